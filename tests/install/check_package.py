#!/usr/bin/env python3
"""Builds the Debian packages with cpack and checks their contents; nothing is installed.

usage: check_package.py --build DIR
Prints all problems, then 'N passed, N failed'; exits with 1 if something failed."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

CONTENTS = {
    "roofline": [
        r"usr/bin/roofline",
        r"usr/share/man/man1/roofline\.1\.gz",
        r"usr/share/bash-completion/completions/roofline",
        r"usr/share/zsh/vendor-completions/_roofline",
        r"usr/share/fish/vendor_completions\.d/roofline\.fish",
    ],
    "roofline-modules": [r"usr/lib/roofline/roofline-\w+\.so"],
    "libroofline-dev": [
        r"usr/include/roofline/\w+\.hpp",
        r"usr/lib/(?:[\w-]+/)?libroofline\.a",
        r"usr/lib/(?:[\w-]+/)?cmake/roofline/roofline-[\w-]+\.cmake",
        r"usr/lib/(?:[\w-]+/)?pkgconfig/roofline\.pc",
    ],
}
# What `./dev page` writes is in the package if it was run before.
OPTIONAL = [r"usr/share/roofline/page/index\.html"]
DEPENDS = {
    "roofline": ["libc6", "libstdc++6", "libfmt9", "libyaml-0-2", "zlib1g"],
    "roofline-modules": ["roofline (="],
    "libroofline-dev": ["libfmt-dev", "libexpected-dev", "libyaml-dev", "zlib1g-dev"],
}
# The program must not depend on these; the package of modules does.
NOT_NEEDED = ("mpi", "dnnl", "hwloc")


def run(command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **more).stdout


def problems_of(package, name):
    """Returns the problems of a package."""
    listed = run(["dpkg-deb", "--contents", package]).splitlines()
    files = [line.split()[5].removeprefix("./") for line in listed if line.startswith("-")]
    expected = CONTENTS[name]
    found = [f"{name} has no {wanted}" for wanted in expected if not any(re.fullmatch(wanted, file) for file in files)]
    allowed = expected + OPTIONAL if name == "roofline" else expected
    found += [f"{name} has {file}" for file in files if not any(re.fullmatch(wanted, file) for wanted in allowed)]
    depends = run(["dpkg-deb", "--field", package, "Depends"]).strip()
    found += [f"{name} depends on {depends}, and not on {wanted}" for wanted in DEPENDS[name] if wanted not in depends]
    if name == "roofline":
        found += [f"{name} depends on {depends}" for word in NOT_NEEDED if word in depends]
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Looks into the Debian packages.")
    parser.add_argument("--build", required=True, type=pathlib.Path)
    given = parser.parse_args(arguments)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="roofline-package-") as scratch:
        try:
            run(["cpack", "--config", given.build.resolve() / "CPackConfig.cmake", "-B", scratch], cwd=given.build)
        except subprocess.CalledProcessError as error:
            print(error.stdout, error.stderr, "0 passed, 1 failed", sep="\n")
            return 1
        packages = {file.name.split("_")[0]: file for file in pathlib.Path(scratch).glob("*.deb")}
        modules = any((given.build / "modules").glob("*.so"))
        for name in CONTENTS:
            if name == "roofline-modules" and not modules:
                continue
            found = problems_of(packages[name], name) if name in packages else [f"there is no package {name}"]
            for problem in found:
                print(problem)
            passed, failed = passed + (not found), failed + bool(found)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
