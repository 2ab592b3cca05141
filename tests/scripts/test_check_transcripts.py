import os

import check_transcripts
from support import InScratchTree


class Transcripts(InScratchTree):
    def golden(self, text, *arguments):
        self.write("tests/golden/x.txt", text)
        return self.run_script(check_transcripts, *arguments)

    def assert_passes(self, text, count=1):
        self.assertEqual(self.golden(text), (0, f"{count} passed, 0 failed\n"))

    def assert_fails(self, text):
        status, printed = self.golden(text)
        self.assertEqual(status, 1)
        self.assertTrue(printed.endswith("1 failed\n"), printed)
        return printed

    def test_output_is_compared_exactly(self):
        self.assert_passes("$ roofline say 'a  b' c\na  b\nc\n")
        for expected in ("a b\nc", "a  b", "a  b\nc\nd", "a  b\nc ", "A  b\nc", "\na  b\nc"):
            self.assert_fails(f"$ roofline say 'a  b' c\n{expected}\n")

    def test_a_failure_shows_the_place_and_the_difference(self):
        printed = self.assert_fails("$ roofline say a\na\n\n$ roofline say new\nold\n")
        self.assertIn("x.txt:4: $ roofline say new", printed)
        self.assertIn("    -old\n    +new\n", printed)
        self.assertTrue(printed.endswith("1 passed, 1 failed\n"))

    def test_both_streams_in_the_order_written(self):
        self.assert_passes("$ roofline both\nout\nerr\nout again\n")

    def test_exit_status(self):
        self.assert_passes("$ roofline fail\nwrong\n[exit 2]\n")
        self.assert_fails("$ roofline fail\nwrong\n")
        self.assert_fails("$ roofline fail\nwrong\n[exit 1]\n")
        self.assert_fails("$ roofline say a\na\n[exit 2]\n")

    def test_a_crash_never_passes_and_is_never_written_down(self):
        text = "$ roofline die\n[exit 139]\n"
        self.assert_fails(text)
        self.assertEqual(self.golden("$ roofline die\n", "--update")[0], 1)
        self.assertEqual(self.read("tests/golden/x.txt"), "$ roofline die\n")

    def test_a_command_that_takes_too_long_is_ended(self):
        status, printed = self.golden("$ roofline hang\n", "--timeout", "1")
        self.assertEqual(status, 1)
        self.assertIn("+[not done after 1 s]", printed)

    def test_prose_and_blank_lines(self):
        self.assert_passes("What this shows.\n\n$ roofline say a\na\n\n\n$ roofline say '' b\n\nb\n\n", 2)
        self.assert_passes("$ roofline none\n$ roofline say a\na\n", 2)

    def test_continuation_lines(self):
        self.assert_passes("$ roofline say \\\n    a \\\n  b\na\nb\n")

    def test_other_commands_are_shown_not_run(self):
        self.assert_passes("$ ./dev build\nwhatever\n$ rooflines\n$ roofline say a\na\n$ touch x\n")

    def test_pipes_and_quotes_are_a_shell_s(self):
        self.assert_passes("$ roofline say a b | tail -n 1\nb\n")

    def test_environment_and_folder(self):
        self.write("tests/golden/files/mine.toml", "")
        self.write("docs/examples/mlp.roof", "")
        self.assert_passes("$ roofline environment\n1  C.UTF-8\n\n$ roofline list\nmine.toml\nmlp.roof\n", 2)

    def test_commands_of_a_file_share_a_folder_and_leave_nothing(self):
        self.write("tests/golden/files/given", "")
        before = sorted(os.listdir(self.root / "tests/golden/files"))
        self.assert_passes("$ roofline write made\n$ roofline list\ngiven\nmade\n", 2)
        self.assertEqual(sorted(os.listdir(self.root / "tests/golden/files")), before)

    def test_console_blocks_of_markdown_alone(self):
        self.write("README.md", "$ roofline say no\n\n```console\n$ roofline say a\na\n```\nprose\n\n"
                                "```sh\n$ roofline say no\n```\n")
        self.write("docs/guide/operation.md", "````console\n$ roofline say '```'\n```\n````\n")
        self.assertEqual(self.run_script(check_transcripts), (0, "2 passed, 0 failed\n"))

    def test_an_open_block_is_an_error(self):
        self.write("README.md", "```console\n$ roofline say a\na\n")
        self.assertEqual(self.run_script(check_transcripts)[0], 1)

    def test_update_rewrites_what_differs_and_nothing_else(self):
        self.write("README.md", "Text\n```console\n$ roofline say a b\nold\n\n$ roofline fail\n\n"
                                "$ ls\nkept\n```\nMore\n")
        status, printed = self.run_script(check_transcripts, "--update")
        self.assertEqual((status, printed.splitlines()[-1]), (0, "2 passed, 0 failed"))
        self.assertEqual(self.read("README.md"), "Text\n```console\n$ roofline say a b\na\nb\n\n"
                         "$ roofline fail\nwrong\n[exit 2]\n\n$ ls\nkept\n```\nMore\n")
        self.assertEqual(self.run_script(check_transcripts), (0, "2 passed, 0 failed\n"))

    def test_nothing_to_check_is_a_failure(self):
        self.assertEqual(self.run_script(check_transcripts)[0], 1)

    def test_no_program(self):
        self.write("tests/golden/x.txt", "$ roofline say a\na\n")
        (self.root / "build/roofline").unlink()
        self.assertEqual(self.run_script(check_transcripts)[0], 1)
