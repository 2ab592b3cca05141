#!/usr/bin/env python3
"""Executes the notebooks in docs/notebooks and compares their outputs with the stored ones.

usage: notebooks.py --package DIR [--write] [FILE ...]
    --package DIR    the package that they import: build/python
    --write          write what they print into the files: review the difference before you commit it

Texts must be equal; of HTML the words and numbers; of a PNG, whose bytes depend on the version of matplotlib, that
there is one. A notebook names the packages whose versions its outputs depend on, in the metadata `depends`; where
another version of one is installed, it is executed, nothing may fail, and its outputs are not compared.

It runs in an environment with nbclient and ipykernel (python/requirements-all.txt). Prints what differs, then
'N passed, N failed, N skipped' in notebooks; exits with 1 if one failed."""

import argparse
import difflib
import html
import importlib.metadata
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"
TIMEOUT_S = 600  # of a cell


def words_of(page):
    """The words of a page of HTML with its pictures, a line each for rows and paragraphs."""
    page = re.sub(r"<style.*?</style>", "", page, flags=re.S)
    page = re.sub(r"</(?:tr|p|div|text|summary|b)>", "\n", page)
    lines = html.unescape(re.sub(r"<[^>]*>", " ", page)).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


def comparable(output):
    """An output as pairs of a kind and a text that must be equal."""
    if output.output_type == "stream":
        return [(output.name, output.text)]
    if output.output_type == "error":
        return [("error", f"{output.ename}: {output.evalue}")]
    found = []
    for kind, text in sorted(output.data.items()):
        if kind in ("text/html", "image/svg+xml"):
            text = words_of(text)
        elif kind == "image/png":
            text = "a picture"
        elif kind == "text/plain":
            text = re.sub(r"0x[0-9a-f]{6,}", "0x..", text)
        else:
            text = str(text)
        found.append((kind, text))
    return found


def join_streams(notebook):
    """What a cell prints arrives in parts whose number depends on the load of the machine."""
    for cell in notebook.cells:
        joined = []
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and joined and joined[-1].get("name") == output.name:
                joined[-1].text += output.text
            else:
                joined.append(output)
        if "outputs" in cell:
            cell.outputs = joined


def executed(notebook, package):
    """Returns the notebook with the outputs of a new kernel."""
    import nbclient
    import nbformat

    again = nbformat.from_dict(notebook)
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith(("JPY_", "XLA_", "ROOFLINE_", "COLUMNS", "MPLBACKEND"))}
    plain |= {"PYTHONPATH": str(package), "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    # Files that a notebook names are found as they are from docs/notebooks, and what it writes is not left there.
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "notebooks")
        path.mkdir()
        pathlib.Path(folder, "examples").symlink_to(NOTEBOOKS.parent / "examples")
        for file in NOTEBOOKS.iterdir():
            if file.suffix != ".ipynb":
                pathlib.Path(path, file.name).symlink_to(file)
        client = nbclient.NotebookClient(again, timeout=TIMEOUT_S, kernel_name="python3", record_timing=False,
                                         resources={"metadata": {"path": str(path)}})
        client.execute(env=plain)
    join_streams(again)
    return again


def cleaned(notebook):
    """What is stored: nothing that differs between machines that print the same."""
    kept = {key: notebook.metadata[key] for key in ("depends",) if key in notebook.metadata}
    for package in kept.get("depends", {}):
        kept["depends"][package] = importlib.metadata.version(package)
    kept["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    kept["language_info"] = {"name": "python"}
    notebook.metadata = type(notebook.metadata)(kept)
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i + 1}"
        cell.metadata.clear()
        for output in cell.get("outputs", []):
            output.pop("metadata", None)
            if output.output_type != "stream":
                output.metadata = {}
    return notebook


def differences(stored, again, name):
    """Returns a text for each cell whose outputs differ, or that was stored without them."""
    found = []
    for number, (old, new) in enumerate(zip(stored.cells, again.cells, strict=True), 1):
        if old.cell_type != "code":
            continue
        before = [f"[{kind}]\n{text}" for output in old.outputs for kind, text in comparable(output)]
        after = [f"[{kind}]\n{text}" for output in new.outputs for kind, text in comparable(output)]
        if before != after:
            lines = difflib.unified_diff("\n".join(before).split("\n"), "\n".join(after).split("\n"),
                                         f"{name}, cell {number}, stored", "executed", lineterm="")
            found.append("\n".join(lines))
    return found


def other_versions(notebook):
    """Returns the packages that the outputs depend on and that are installed in other versions; None for absent."""
    found = []
    for package, version in notebook.metadata.get("depends", {}).items():
        try:
            here = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None
        if here != version:
            found.append(f"{package} {here} is installed, and {version} made the outputs")
    return found


def checked(file, package, write):
    """Executes a notebook. Returns 'passed', 'failed' or 'skipped'."""
    import nbclient
    import nbformat

    stored = nbformat.read(file, as_version=4)
    others = other_versions(stored)
    if others is None:
        print(f"  {file.name}: a package that it needs is not installed")
        return "skipped"
    try:
        again = executed(stored, package)
    except nbclient.exceptions.CellExecutionError as problem:
        print(f"{file.name} failed:\n{problem}")
        return "failed"
    if write:
        nbformat.write(cleaned(again), file)
        return "passed"
    if others:
        print(f"  {file.name}: executed, but not compared: {'; '.join(others)}")
        return "skipped"
    found = differences(stored, again, file.name)
    for each in found:
        print(each)
    return "failed" if found else "passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--write", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    files = arguments.files or sorted(NOTEBOOKS.glob("*.ipynb"))
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for file in files:
        count[checked(file, arguments.package, arguments.write)] += 1
    print(", ".join(f"{number} {word}" for word, number in count.items()))
    return 1 if count["failed"] or not files else 0


if __name__ == "__main__":
    sys.exit(main())
