import check_lines
from support import InScratchTree

LONG = "x" * 121
FITS = "x" * 120


class Lines(InScratchTree):
    def numbers(self, path, text):
        return [number for number, _ in check_lines.long_lines(path, text)]

    def test_the_limit_itself_is_allowed(self):
        self.assertEqual(self.numbers("src/x.cpp", f"{FITS}\n"), [])
        self.assertEqual(self.numbers("src/x.cpp", f"\n{LONG}\n"), [2])

    def test_characters_count_and_not_bytes(self):
        self.assertEqual(self.numbers("src/x.cpp", "ü" * 120), [])
        self.assertEqual(self.numbers("src/x.cpp", "ü" * 121), [1])

    def test_comments_count_but_addresses_may_be_long(self):
        self.assertEqual(self.numbers("src/x.hpp", f"// {LONG}"), [1])
        self.assertEqual(self.numbers("src/x.hpp", f"// https://example.org/{LONG}"), [])

    def test_raw_strings_cannot_be_broken(self):
        text = f'auto x = R"({LONG}\n{LONG})";\n// {LONG}'
        self.assertEqual(self.numbers("src/x.cpp", text), [3])

    def test_only_cpp_has_such_raw_strings(self):
        text = f'x = r\'R"({LONG})"\''
        self.assertEqual(self.numbers("src/x.cpp", text), [])
        self.assertEqual(self.numbers("scripts/x.py", text), [1])
        self.assertEqual(self.numbers("scripts/x.py", f"# https://example.org/{LONG}"), [])

    def test_tables_and_links_of_documents_may_be_long(self):
        self.assertEqual(self.numbers("docs/x.md", f"| {LONG} |\n[{LONG}](y.md)\n![{LONG}](y.svg)"), [])
        self.assertEqual(self.numbers("docs/x.md", f"{LONG}"), [1])
        self.assertEqual(self.numbers("src/x.cpp", f"| {LONG}"), [1])

    def test_what_a_program_prints_may_be_long_but_its_command_not(self):
        block = f"```console\n$ roofline {LONG}\n{LONG}\n```\n{LONG}"
        self.assertEqual(self.numbers("docs/x.md", block), [2, 5])
        carried_on = f"```console\n$ roofline \\\n{LONG}\n{LONG}\n```"
        self.assertEqual(self.numbers("docs/x.md", carried_on), [3])

    def test_other_blocks_of_code_are_checked(self):
        self.assertEqual(self.numbers("docs/x.md", f"```toml\n{LONG}\n```"), [2])
        self.assertEqual(self.numbers("docs/x.md", f"````console\n```\n{LONG}\n````\n{LONG}"), [5])

    def test_files_are_found_and_counted_by_folder(self):
        self.write("README.md", LONG)
        self.write("docs/guide/x.md", FITS)
        self.write("src/base/x.cpp", f"{LONG}\n{LONG}\n")
        self.write("CMakeLists.txt", LONG)
        self.write("src/base/x.txt", LONG)
        status, printed = self.run_script(check_lines, "--folders")
        self.assertEqual(status, 1)
        self.assertEqual(printed, "CMakeLists.txt:1: 121 characters, at most 120\n"
                                  "README.md:1: 121 characters, at most 120\n"
                                  "src/base/x.cpp:1: 121 characters, at most 120\n"
                                  "src/base/x.cpp:2: 121 characters, at most 120\n"
                                  "CMakeLists.txt: 1 long lines\nREADME.md: 1 long lines\ndocs: 0 long lines\n"
                                  "src: 2 long lines\n"
                                  "1 passed, 3 failed\n")

    def test_scripts_and_build_files_are_sources(self):
        for path in ("dev", "scripts/x.py", "tests/scripts/x.py", "cmake/x.cmake", "cmake/x.pc.in", "tools/x.cpp"):
            with self.subTest(path):
                file = self.write(path, LONG)
                self.assertEqual(self.run_script(check_lines), (1, f"{path}:1: 121 characters, at most 120\n"
                                                                   "0 passed, 1 failed\n"))
                file.unlink()

    def test_a_clean_tree_passes_and_an_empty_one_fails(self):
        self.assertEqual(self.run_script(check_lines)[0], 1)
        self.write("src/x.cpp", FITS)
        self.assertEqual(self.run_script(check_lines), (0, "1 passed, 0 failed\n"))
