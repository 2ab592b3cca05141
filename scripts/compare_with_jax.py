#!/usr/bin/env python3
"""Prints what functions of JAX cost by XLA's own analysis and by `roofline hlo --cost xla`, and what is wrong with the
answers of rl.jax() for a machine.

usage: compare_with_jax.py --package DIR [NAME ...]
    --package DIR   folder that holds the built package `roofline`: build/python
    NAME            only functions with this in their name

It runs in an environment with JAX: build/venv/bin/python scripts/compare_with_jax.py ... The functions are those of
python/tests/jax_functions.py. Exits with 1 if anything differs without a reason that is given there."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    sys.path[:0] = [arguments.package, str(ROOT / "python" / "tests")]
    import jax_comparison
    import jax_functions

    failed = 0
    print(f"{'function':42} {'FLOPs':>14} {'transcend.':>10} {'bytes':>11} {'by hand':>10}  StableHLO / XLA")
    cases = [case for case in jax_functions.CASES
             if not arguments.names or any(name in case.name for name in arguments.names)]
    for case in cases:
        forms = jax_comparison.forms(case)
        wrong = jax_comparison.wrong(case, forms) + jax_comparison.answered(case)
        failed += bool(wrong)
        compiled, direct = forms[0].ours, forms[-1]
        hand = "-" if case.matmul_flops is None else "equal"
        ratios = "equal" if direct.equal else ", ".join(
            f"{key} {direct.ours[key] / direct.xla[key]:.4f}" for key in ("flops", "bytes")
            if direct.xla[key] and direct.ours[key] != direct.xla[key])
        print(f"{case.name:42} {compiled['flops']:14.0f} {compiled['transcendentals']:10.0f} "
              f"{compiled['bytes']:11.0f} {hand:>10}  {ratios}")
        for each in [f"    {case.otherwise}"] * bool(case.otherwise) + [f"    WRONG: {each}" for each in wrong]:
            print(each)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
