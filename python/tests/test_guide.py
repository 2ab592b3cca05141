"""The examples of docs/guide/python.md print what the page says. Those of JAX and PyTorch need them.

UPDATE_GUIDE=1 writes what they print into the page."""

import contextlib
import importlib.util
import io
import linecache
import os
import pathlib
import re
from typing import Any

import pytest
from conftest import ROOT

GUIDE = ROOT / "docs" / "guide" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def test_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "XLA_FLAGS"):
        monkeypatch.delenv(name, raising=False)
    names: dict[str, Any] = {"__name__": "guide"}
    told = []
    absent = [name for name in ("jax", "torch") if importlib.util.find_spec(name) is None]
    for block in BLOCK.finditer(text):
        if any(f"import {name}" in block[1] or f"rl.{name}(" in block[1] for name in absent):
            continue
        printed = io.StringIO()
        if "\ndef " in block[1]:  # its text, for what shows lines of it
            linecache.cache["step.py"] = (len(block[1]), None, block[1].splitlines(keepends=True), "step.py")
        with contextlib.redirect_stdout(printed):
            exec(compile(block[1], "step.py", "exec"), names)
        told.append((block, printed.getvalue()))
    assert len(told) >= 5
    if os.environ.get("UPDATE_GUIDE"):
        for block, said in reversed(told):
            if block[2] is not None:
                text = text[: block.start(2)] + said + text[block.end(2) :]
        GUIDE.write_text(text, encoding="utf-8")
        return
    for block, said in told:
        assert said == (block[2] or ""), block[1]
