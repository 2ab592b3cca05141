import contextlib
import io
import subprocess

import changed
from support import InScratchTree


class Changed(InScratchTree):
    def setUp(self):
        super().setUp()
        sources = ("src/a/one.cpp", "src/a/one_test.cpp", "src/a/deep/two.cpp", "src/b/three.hpp")
        for file in (*sources, "data/x.toml", "dev"):
            self.write(file, "text\n")

    def to_do(self, *paths):
        return [each for each in changed.to_do(self.root, paths) if each not in (("test", "layers"), ("test", "lines"))]

    def test_a_source_has_the_tests_of_its_folder(self):
        expected = [("format", "src/a/one.cpp"), ("build", "roofline"), ("build", "roofline_tests"),
                    ("test", "unit\\.src/a/[^/]*")]
        self.assertEqual(self.to_do("src/a/one.cpp"), expected)
        deep = self.to_do("src/a/deep/two.cpp")
        self.assertEqual(deep, [("format", "src/a/deep/two.cpp"), *expected[1:]])
        self.assertEqual(self.to_do("src/b/three.hpp"), [("format", "src/b/three.hpp"), *expected[1:3]])
        self.assertEqual(self.to_do("src/a/one.cpp", "src/a/deep/two.cpp"), [expected[0], *expected[1:], deep[0]])

    def test_what_is_gone_has_no_format(self):
        self.assertNotIn(("format", "src/a/gone.cpp"), self.to_do("src/a/gone.cpp"))
        self.assertIn(("build", "roofline_tests"), self.to_do("src/a/gone.cpp"))

    def test_other_files(self):
        self.assertEqual(self.to_do("tests/cases/x.tsv"), [("build", "roofline"), ("test", "cases")])
        self.assertEqual(self.to_do("docs/guide/x.md"),
                         [("build", "roofline"), ("test", "transcripts"), ("test", "accuracy")])
        self.assertEqual(self.to_do("scripts/x.py"), [("test", "scripts")])
        self.assertEqual(self.to_do("tests/scripts/x.py"), [("test", "scripts")])
        self.assertEqual(self.to_do("tests/property/x.cpp"), [("build", "roofline_properties"), ("test", "properties")])
        self.assertIn(("test", "unit\\.src/(calibrate|machine|model)/[^/]*"), self.to_do("data/x.toml"))
        self.assertEqual(self.to_do("dev", "cmake/x.cmake", "fuzz/x.dict"),
                         [("left", "dev"), ("left", "cmake/x.cmake"), ("left", "fuzz/x.dict")])

    def test_layers_are_always_checked(self):
        self.assertIn(("test", "layers"), changed.to_do(self.root, []))

    def git(self, *words):
        someone = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *someone, *words], cwd=self.root, check=True, capture_output=True)

    def test_what_git_knows_of(self):
        self.write(".gitignore", "build/\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")
        self.assertEqual(changed.changed_files(self.root), [])
        self.write("dev", "other\n")
        self.write("src/b/new file.cpp", "text\n")
        self.write("data/x.toml", "other\n")
        self.git("add", "data/x.toml")
        (self.root / "src/a/one.cpp").unlink()
        expected = ["data/x.toml", "dev", "src/a/one.cpp", "src/b/new file.cpp"]
        self.assertEqual(changed.changed_files(self.root), expected)

    def test_a_mistyped_name_is_an_error(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(self.run_script(changed, "src/a/nothing.cpp"), (2, ""))
        self.assertIn("src/a/nothing.cpp", said.getvalue())
        self.assertEqual(self.run_script(changed, "dev"), (0, "test layers\ntest lines\nleft dev\n"))
