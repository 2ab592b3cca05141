"""HLO protos of JAX: the answer for a proto is that for the text of the same module."""

from __future__ import annotations

import importlib
import json
import pathlib
from typing import Any

import pytest
from jax_functions import CASES, HAS_DEVICES, MLP, ROWS, Case, jax, mlp_loss

import roofline as rl

NAMES = [
    "attention",
    "Transformer block's gradient",
    "convolution net's gradient",
    "scan of a checkpointed body, its gradient",
    "MLP's gradient over 2 x 4 devices",
    "random numbers",
    "shard_map: ppermute",
]


def answer_of(module: str | bytes, **asked: Any) -> Any:
    said = json.loads(rl.hlo(module, **asked).to_json())
    return json.loads(json.dumps(said).replace("module.hlo", "module"))


def different(case: Case) -> list[str]:
    """The questions whose answers differ between text and proto, of the compiled module and the one before."""
    lowered = case.jitted().lower(*case.args)
    before = lowered.compiler_ir("hlo")
    (after,) = lowered.compile().runtime_executable().hlo_modules()
    wrong = []
    on = f"h100-sxm:{case.devices}" if case.devices > 1 else "h100-sxm"
    for form, module in ("compiled", after), ("before", before.get_hlo_module()):
        options = importlib.import_module("jaxlib._hlo").HloPrintOptions()
        options.print_metadata = True
        text, proto = module.to_string(options), module.as_serialized_hlo_module_proto()
        for asked in {"on": on}, {"cost": "xla"}, {"cost": "xla-gpu"}:
            try:
                expected = answer_of(text, **asked)
            except rl.Error as error:
                with pytest.raises(rl.Error) as caught:
                    answer_of(proto, **asked)
                assert caught.value.message == error.message
                continue
            if answer_of(proto, **asked) != expected:
                wrong.append(f"{form} {asked}")
    return wrong


@pytest.mark.parametrize("case", [each for each in CASES if each.name in NAMES], ids=lambda each: str(each.name))
def test_proto_is_text(case: Case) -> None:
    if case.devices > 1 and not HAS_DEVICES:
        pytest.skip("the process has another number of devices")
    assert different(case) == []


def test_files_and_bytes(tmp_path: pathlib.Path) -> None:
    (module,) = jax.jit(mlp_loss).lower(MLP, ROWS).compile().runtime_executable().hlo_modules()
    proto = module.as_serialized_hlo_module_proto()
    file = tmp_path / "step.hlo.pb"
    file.write_bytes(proto)
    one, other = rl.hlo(proto, on="h100-sxm"), rl.hlo(file, on="h100-sxm")
    assert one.total == other.total
    # The HloProto that XLA dumps has the module as its first field.
    size, length = len(proto), b""
    while size >= 128:
        length, size = length + bytes([size % 128 + 128]), size // 128
    assert rl.hlo(b"\n" + length + bytes([size]) + proto, on="h100-sxm").total == one.total
    with pytest.raises(rl.Error, match=r"module.hlo: byte \d+: field \d+ has \d+ bytes, but its message ends"):
        rl.hlo(proto[:-100], on="h100-sxm")
