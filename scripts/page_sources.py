#!/usr/bin/env python3
"""Fetches the sources of libyaml, zlib and simdjson, which the core needs as WebAssembly, from Debian: those of the
packages that the program is built with; and those of LZMA, which unpacks the core. apt-get checks their signatures.

usage: page_sources.py FOLDER
FOLDER/libyaml and so on are made, and nothing is fetched if they are there."""

import pathlib
import shutil
import subprocess
import sys
import tarfile

SUITE = "bookworm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
NAMES = ("libyaml", "zlib", "simdjson", "lzma")


def fetch(folder, names):
    """Downloads the source packages with lists of its own, so that the system's configuration stays as it is."""
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(f"deb-src [signed-by={KEYRING}] {MIRROR} {SUITE} main\n")
    options = [f"-oDir::Etc::sourcelist={folder / 'sources.list'}", "-oDir::Etc::sourceparts=/dev/null",
               f"-oDir::State::lists={folder / 'lists'}", f"-oDir::Cache={folder / 'cache'}",
               "-oAPT::Sandbox::User="]
    for command in (["update", "-qq"], ["source", "-qq", "--download-only", *names]):
        subprocess.run(["apt-get", *options, *command], cwd=folder, check=True, stdin=subprocess.DEVNULL)


def unpack(folder, name):
    """Unpacks FOLDER/NAME_VERSION.orig.tar.* as FOLDER/NAME."""
    (archive,) = folder.glob(f"{name}_*.orig.tar.*")
    partial = folder / f"{name}.part"
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(archive) as packed:
        packed.extractall(partial, filter="data")
    (content,) = partial.iterdir()
    content.rename(folder / name)
    partial.rmdir()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    missing = [name for name in NAMES if not (folder / name).is_dir()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*_*"):
            old.unlink()
        fetch(folder, missing)
        for name in missing:
            unpack(folder, name)


if __name__ == "__main__":
    main()
