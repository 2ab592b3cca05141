#!/usr/bin/env python3
"""Prints the FLOPs of matmuls and convolutions of PyTorch's modules by torch.utils.flop_counter and by rl.torch(), and
what is wrong with the answers.

usage: compare_with_torch.py --package DIR [--record DIR] [NAME ...]
    --package DIR   folder that holds the built package `roofline`: build/python
    --record DIR    write the graphs of all modules and flop_counter's counts: tests/data/torch
    NAME            only modules with this in their name

It runs in an environment with PyTorch. The modules are those of python/tests/torch_modules.py. Exits with 1 if anything
differs without a reason that is given there."""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True)
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    sys.path[:0] = [arguments.package, str(ROOT / "python" / "tests")]
    import torch_comparison
    import torch_modules

    import roofline as rl

    failed = 0
    rows = []
    cases = [case for case in torch_modules.CASES
             if not arguments.names or any(name in case.name for name in arguments.names)]
    print(f"{'module':40} {'flop_counter':>14} {'ours':>14} {'all FLOPs':>14} {'kernels':>8}")
    for case in cases:
        flops = torch_comparison.counted(case)
        ours = torch_comparison.answer(case)
        wrong = torch_comparison.wrong(case, flops, ours)
        failed += bool(wrong)
        total = ours.total
        print(f"{case.name:40} {flops:14.0f} {total.matmul_flops:14.0f} {total.flops:14.0f} {len(ours.ops):8}")
        for each in [f"    {case.otherwise}"] * bool(case.otherwise) + [f"    WRONG: {each}" for each in wrong]:
            print(each)
        if arguments.record:
            file = re.sub(r"\W+", "_", case.name).strip("_").lower() + ".json"
            text = rl.torch_graph(case.module, case.args)
            text = re.sub(r'"file": "[^"]*/', '"file": "', text)
            (arguments.record / file).write_text(text)
            rows.append(f"{file}\t{flops:.0f}\t{'' if case.flops is None else f'{case.flops:.0f}'}\t{case.otherwise}")
    if arguments.record:
        head = "file\tflop_counter\tby_hand\treason"
        (arguments.record / "flop_counter.tsv").write_text("\n".join([head, *rows]) + "\n")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
