#!/usr/bin/env python3
"""Installs the build into an empty prefix and uses it as an independent project does, without access to the sources.

- Every public header compiles alone and includes only the standard library and tl::expected.
- Every ```cpp block of docs/library.md is a program: it is built with find_package(roofline) and run, and its output
  must equal the ```text block that follows. The first one is also built with pkg-config.
- The program prints its version; its manual page and completions are installed where man and shells look for them.

usage: check_install.py --build DIR [--compiler C++] [--generator NAME] [--config NAME] [--version N] [--update]
--update writes the current output of the programs into docs/library.md: review the difference before you commit it.
Prints all failures, then 'N passed, N failed'; exits with 1 if something failed."""

import argparse
import difflib
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(cpp|text)\n(.*?)^```$", re.M | re.S)
FOREIGN = ("toml++", "nlohmann", "fmt/", "CLI/")
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(stranger LANGUAGES CXX)
find_package(roofline {version} REQUIRED CONFIG)
foreach(example RANGE 1 {count})
  add_executable(example${{example}} example${{example}}.cpp)
  target_link_libraries(example${{example}} PRIVATE roofline::roofline)
endforeach()
"""


class Failed(Exception):
    """The failure of a check, with its message."""


def run(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def examples_of(text):
    """Returns the programs of a document and their output, as (code, output, span of the output)."""
    blocks = list(BLOCK.finditer(text))
    found = []
    for block, following in zip(blocks, blocks[1:] + [None]):
        if block.group(1) != "cpp":
            continue
        if following is None or following.group(1) != "text":
            raise Failed("docs/library.md: a program without what it prints")
        found.append((block.group(2), following.group(2), following.span(2)))
    return found


class Checks:
    def __init__(self, given, scratch):
        self.given = given
        self.prefix = scratch / "prefix"
        self.work = scratch / "stranger"
        self.document = SOURCE / "docs" / "library.md"
        self.text = self.document.read_text(encoding="utf-8")
        self.examples = examples_of(self.text)
        self.passed = self.failed = 0

    def check(self, what, function, *arguments):
        try:
            function(*arguments)
            self.passed += 1
        except Failed as failure:
            self.failed += 1
            print(f"{what}: {failure}")

    def libraries(self):
        """Returns the folder of the archive and of the files for CMake and pkg-config."""
        return next(self.prefix.rglob("libroofline.a")).parent

    def install(self):
        run(["cmake", "--install", self.given.build, "--prefix", self.prefix, "--config", self.given.config])
        for file in [*self.libraries().rglob("*.cmake"), *self.libraries().rglob("*.pc")]:
            for place in (SOURCE, self.given.build.resolve()):
                if f"{place}/" in file.read_text(encoding="utf-8"):
                    raise Failed(f"{file.name} names {place}")

    def headers(self):
        public = {file.name for file in (SOURCE / "include" / "roofline").iterdir()}
        folder = self.prefix / "include"
        installed = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
        if installed != {f"roofline/{name}" for name in public}:
            raise Failed(f"installed are {sorted(installed)}")

    def header(self, header):
        # The header must compile as the only include of a source.
        source = self.prefix / "alone.cpp"
        source.write_text(f'#include "roofline/{header.name}"\n', encoding="utf-8")
        used = self.prefix / "alone.d"
        flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
        run([self.given.compiler, *flags, "-I", self.prefix / "include", source])
        run([self.given.compiler, "-std=c++20", "-M", "-MF", used, "-I", self.prefix / "include", source])
        for place in (f"{SOURCE}/", *FOREIGN):
            if place in used.read_text(encoding="utf-8"):
                raise Failed(f"includes something of {place}")

    def build_with_cmake(self):
        self.work.mkdir()
        for number, (code, _, _) in enumerate(self.examples, 1):
            (self.work / f"example{number}.cpp").write_text(code, encoding="utf-8")
        text = CMAKE.format(version=self.given.version.rsplit(".", 1)[0], count=len(self.examples))
        (self.work / "CMakeLists.txt").write_text(text, encoding="utf-8")
        settings = [
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={self.given.compiler}",
            "-DCMAKE_BUILD_TYPE=Debug",
        ]
        # Users of a library that was built with sanitizers must be built with them, too.
        cache = (self.given.build / "CMakeCache.txt").read_text(encoding="utf-8")
        own = re.findall(r"^CMAKE_CXX_FLAGS(?:_SANITIZE)?:\w+=(.*-fsanitize=.*)$", cache, re.M)
        settings.append(f"-DCMAKE_CXX_FLAGS={' '.join(own)}")
        run(["cmake", "-S", self.work, "-B", self.work / "build", "-G", self.given.generator, *settings])
        run(["cmake", "--build", self.work / "build"])

    def output(self, program, expected, span):
        printed = run([program], cwd=self.work, env={"PATH": os.environ["PATH"]})
        if self.given.update:
            self.text = self.text[: span[0]] + printed + self.text[span[1] :]
        elif printed != expected:
            both = (expected.splitlines(True), printed.splitlines(True))
            lines = difflib.unified_diff(*both, "docs/library.md", "printed")
            raise Failed("prints something else\n" + "".join(lines))

    def build_with_pkg_config(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.libraries() / "pkgconfig")}
        flags = run(["pkg-config", "--cflags", "--libs", "roofline"], env=environment).split()
        program = self.work / "packaged"
        run([self.given.compiler, "-std=c++20", self.work / "example1.cpp", *flags, "-o", program])
        if not self.given.update:
            self.output(program, *self.examples[0][1:])

    def archive(self):
        # The linker could mix up these symbols with those of a user's own copy of the library.
        symbols = run(["nm", "--defined-only", self.libraries() / "libroofline.a"])
        if "roofline_json" not in symbols or re.search(r"nlohmann\d+json_abi", symbols):
            raise Failed("holds symbols of nlohmann_json that a user's own may be confused with")

    def program(self):
        said = run([self.prefix / "bin" / "roofline", "--version"])
        if said != f"roofline {self.given.version}\n":
            raise Failed(f"says {said!r}")

    def manual(self):
        page = gzip.decompress(next(self.prefix.rglob("man1/roofline.1.gz")).read_bytes()).decode()
        for words in (".TH ROOFLINE 1", ".SH NAME", ".SS roofline train", ".SH EXIT STATUS", "\\-\\-sweep"):
            if words not in page:
                raise Failed(f"has no {words}")

    def completions(self):
        places = {
            "bash-completion/completions/roofline": "complete ",
            "zsh/vendor-completions/_roofline": "#compdef roofline",
            "fish/vendor_completions.d/roofline.fish": "complete -c roofline",
        }
        for place, words in places.items():
            file = self.prefix / "share" / place
            if not file.is_file() or words not in file.read_text(encoding="utf-8"):
                raise Failed(f"{place} is no completion")

    def all(self):
        self.check("install", self.install)
        if self.failed:
            return
        self.check("headers", self.headers)
        for header in sorted((self.prefix / "include").rglob("*.hpp")):
            self.check(header.name, self.header, header)
        self.check("archive", self.archive)
        self.check("program", self.program)
        self.check("manual page", self.manual)
        self.check("completions", self.completions)
        self.check("find_package", self.build_with_cmake)
        # From the last to the first, so that an update does not move the spans of the remaining ones.
        for number, (_, expected, span) in reversed(list(enumerate(self.examples, 1))):
            program = self.work / "build" / f"example{number}"
            self.check(f"docs/library.md, program {number}", self.output, program, expected, span)
        if shutil.which("pkg-config"):
            self.check("pkg-config", self.build_with_pkg_config)
        if self.given.update:
            self.document.write_text(self.text, encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Uses the installed package as strangers do.")
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--generator", default="Ninja")
    parser.add_argument("--config", default="Release")
    parser.add_argument("--version", default="0.1.0")
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="roofline-install-") as scratch:
        checks = Checks(given, pathlib.Path(scratch))
        checks.all()
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
