import base64
import hashlib
import lzma
import re

import page
from support import InScratchTree

INDEX = """<!doctype html>
<html>
<head>
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self' blob:;
    connect-src 'self'; img-src data:">
<link rel="stylesheet" href="page.css">
<script type="module" src="main.mjs"></script>
</head>
<body>
<p id="out"></p>
</body>
</html>
"""


class Page(InScratchTree):
    def setUp(self):
        super().setUp()
        self.write("index.html", INDEX)
        self.write("page.css", "p { color: red; }\n")
        self.write("main.mjs", "import {twice as double} from './sum.mjs';\nimport * as words from './words.mjs';\n"
                               "document.title = words.hello + double(2);\n")
        self.write("sum.mjs", "export function twice(x) {\n  return 2 * x;\n}\n")
        self.write("words.mjs", "import {\n  twice,\n} from './sum.mjs';\nconst a = 'a';\nexport {a as hello};\n"
                                "export const four = twice(2);\n")
        self.write("worker.mjs", "import {twice} from './sum.mjs';\nself.onmessage = () => twice('</script>');\n")

    def page(self):
        return page.page(self.root, b"\0asm core", b"\0asm unpack")

    def script(self):
        return re.search(r'<script type="module">(.*)</script>', self.page(), re.S).group(1)

    def refused(self, **files):
        for name, text in files.items():
            self.write(name.replace("_", "."), text)
        with self.assertRaises(page.Trouble) as refused:
            self.page()
        return str(refused.exception)

    def test_nothing_is_loaded_from_outside(self):
        self.assertNotRegex(self.page(), r"(?:src|href)=\"(?!data:)")
        self.assertIn("<style>p { color: red; }\n</style>", self.page())

    def test_a_style_in_ascii_keeps_its_spaces(self):
        self.write("page.css", 'li::before { content: "\u00b7 "; }\n')
        self.assertIn('content: "\\0000b7  ";', self.page())  # CSS takes the first space as the end of the escape

    def test_modules_stand_behind_what_they_import(self):
        text = self.script()
        order = [text.index(f"const module_{name} = (() => {{") for name in ("sum", "words", "main")]
        self.assertEqual(order, sorted(order))
        self.assertIn("const {twice: double} = module_sum;", text)
        self.assertIn("const words = module_words;", text)
        self.assertIn("return {four, hello: a};", text)
        self.assertNotRegex(text, r"(?m)^(import|export)\b")

    def test_the_core_is_packed_in_parts(self):
        packed = re.findall(r'class="core">([^<]*)<', self.page())
        parts = [lzma.decompress(base64.b64decode(part), format=lzma.FORMAT_ALONE) for part in packed]
        self.assertEqual(b"".join(parts), b"\0asm core")

    def test_the_policy_allows_this_script_and_this_style_only(self):
        def hashed(text):
            return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

        built = self.page()
        policy = re.search(r'content="(default-src[^"]*)"', built).group(1)
        front, *behind_parts = re.findall(r"<script>(.*?)</script>", built, re.S)
        self.assertEqual(len(behind_parts), page.PARTS)
        self.assertEqual(len(set(behind_parts)), 1)
        scripts = " ".join(map(hashed, [front, behind_parts[0], self.script()]))
        self.assertEqual(policy, f"default-src 'none'; img-src data:; script-src {scripts} "
                                 f"'wasm-unsafe-eval'; style-src {hashed('p { color: red; }' + chr(10))}; "
                                 "worker-src blob:; connect-src 'none'")

    def test_a_script_cannot_end_early(self):
        # the one in front of the parts of the core, each part and the one behind it, and the modules
        self.assertEqual(self.page().count("</script>"), 1 + 2 * page.PARTS + 1)

    def test_what_cannot_be_one_file_is_refused(self):
        self.assertIn("in a circle", self.refused(sum_mjs="import {hello} from './words.mjs';\n"))
        self.assertIn("sum.mjs:2: this", self.refused(sum_mjs="// text\nexport let changing = 1;\n"))
        self.assertIn("main.mjs:1: this", self.refused(main_mjs="import x from './sum.mjs';\n", sum_mjs=""))
        self.assertIn("security policy", 
                      self.refused(index_html=INDEX.replace("Content-Security-Policy", "X"), main_mjs=""))
