import check_layers
from support import InScratchTree


class Layers(InScratchTree):
    def violations(self, path, text):
        return [message for _, message in check_layers.check_text(path, text)]

    def assert_clean(self, path, text):
        self.assertEqual(self.violations(path, text), [])

    def assert_refused(self, path, text, part):
        found = self.violations(path, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def test_earlier_folders_and_the_own_one_may_be_included(self):
        self.assert_clean("work/cost.cpp", '#include "work/cost.hpp"\n#include "base/result.hpp"\n#include <vector>\n')

    def test_later_folders_may_not(self):
        self.assert_refused("work/cost.cpp", '#include "bound/bound.hpp"', "bound comes after work")
        self.assert_refused("base/result.hpp", '  #  include "units/dtype.hpp"', "units comes after base")

    def test_tests_keep_the_order_too(self):
        self.assert_refused("units/text_test.cpp", '#include "machine/machine.hpp"', "machine comes after units")

    def test_import_measure_and_report_are_strangers(self):
        self.assert_refused("report/json.cpp", '#include "import/hlo.hpp"', "do not know each other")
        self.assert_refused("measure/cpu/run.cpp", '#include "import/hlo.hpp"', "do not know each other")
        self.assert_clean("app/handle.cpp", '#include "import/hlo.hpp"\n#include "report/json.hpp"\n')

    def test_only_the_command_line_knows_its_own_headers(self):
        self.assert_refused("app/handle.cpp", '#include "app/cli/options.hpp"', "only the command line")
        self.assert_clean("app/cli/main.cpp", '#include "app/cli/options.hpp"')

    def test_includes_are_relative_to_src(self):
        self.assert_refused("work/cost.cpp", '#include "cost.hpp"', "not a folder of src")
        self.assert_refused("work/cost.cpp", '#include "../base/result.hpp"', "not a folder of src")
        self.assert_refused("work/cost.cpp", '#include "base/../app/handle.hpp"', "paths start at src/")

    def test_files_outside_the_order(self):
        self.assert_refused("helpers/x.cpp", "", "no folder of the order")
        self.assert_refused("x.cpp", "", "no folder of the order")

    def test_the_public_face_is_kept_to_its_implementation(self):
        self.assert_refused("predict/predict.cpp", '#include "roofline/roofline.hpp"', "kept to api")
        self.assert_clean("units/quantity.hpp", '#include "roofline/units.hpp"')
        self.assert_clean("api/predict.cpp", '#include "roofline/roofline.hpp"')

    def test_public_headers_bring_in_nothing_of_others(self):
        clean = '#include "roofline/units.hpp"\n#include <tl/expected.hpp>\n#include <vector>\n'
        self.assertEqual(check_layers.check_public(clean), [])
        for line in ("#include <nlohmann/json.hpp>", "#include <toml++/toml.h>", "#include <fmt/format.h>",
                     '#include "machine/machine.hpp"'):
            self.assertEqual([number for number, _ in check_layers.check_public(clean + line)], [4], line)

    def test_third_party_headers_are_kept_to_their_folders(self):
        self.assert_refused("machine/machine.cpp", "#include <nlohmann/json.hpp>", "kept to text, report, app")
        self.assert_refused("app/handle.cpp", "#include <CLI/CLI.hpp>", "kept to app/cli")
        self.assert_clean("report/json.cpp", "#include <nlohmann/json.hpp>")
        self.assert_clean("app/cli/main.cpp", "#include <CLI/CLI.hpp>\n#include <nlohmann/json.hpp>")

    def test_library_code_is_silent_and_returns(self):
        for code in ("std::printf(\"x\");", "printf(\"x\");", "std::fputs(s, f);", "std::cout << 1;",
                     "std :: cerr << 1;", "fmt::print(\"x\");", "std::exit(1);", "exit (1);", "std::abort();",
                     "std::terminate();", "throw 1;", "assert(x > 0);",
                     "auto t = std::chrono::steady_clock::now();", "std::time(nullptr);", "time(nullptr);",
                     "#include <iostream>", "#include <chrono>", "#include <cassert>"):
            with self.subTest(code):
                found = self.violations("bound/bound.cpp", f"int before;\n{code}\n")
                self.assertTrue(found)
                self.assertEqual(check_layers.check_text("bound/bound.cpp", f"int before;\n{code}\n")[0][0], 2)
                self.assert_clean("measure/cpu/run.cpp", code)
                self.assert_clean("app/cli/main.cpp", code)
                self.assert_clean("bound/bound_test.cpp", code)

    def test_words_that_only_look_forbidden(self):
        self.assert_clean("bound/bound.cpp", """
            // never throws: exit(1) is not for libraries
            /* std::cout << "printf(" */
            const char* text = "throw exit(1) \\" abort()";
            const char* raw = R"x(throw ")" assert(1) )x";
            char quote = '"'; int throws = 1'000;
            static_assert(sizeof(int) == 4);
            auto a = snprintf_like(1); auto b = peak.time(x); auto c = plan->exit(1); auto d = Trip::clock(2);
            Seconds time() const; Status clock() { return time(x); }
            int fingerprint(int); int runtime(int);
            """)

    def test_code_after_a_string_is_still_read(self):
        self.assert_refused("bound/bound.cpp", "f(\"a\"); g('\\''); throw 1;", "throw")
        self.assert_refused("bound/bound.cpp", "int n = 0x1'0; throw 1;", "throw")

    def test_types_of_a_file_are_found_with_their_namespaces(self):
        self.assertEqual(check_layers.types_in("""
            // struct Comment {};
            namespace roofline {
            struct Declared;  struct Declared::Inner { int a; };
            enum class Basis : std::uint8_t { spec };
            template <class T> class Box final : public Base<T> { struct Inner {}; };
            namespace { struct Hidden { int a = int{}; }; }
            int f() { struct Local {}; return 1; }
            union [[nodiscard]] Either { int a; };
            }  // namespace roofline
            namespace roofline::cli { struct Words {}; }
            struct Outside {};
            """), [(5, "roofline::Basis"), (6, "roofline::Box"), (7, "roofline::Hidden"), (9, "roofline::Either"),
                   (11, "roofline::cli::Words"), (12, "Outside")])

    def test_no_two_files_define_types_of_one_name(self):
        hidden = "namespace roofline {\nnamespace {\nstruct Part {};\n}\n}\n"
        clash = check_layers.check_types({"a/x.cpp": hidden, "b/y.hpp": "namespace roofline { class Part {}; }"})
        self.assertEqual(list(clash), ["b/y.hpp"])
        self.assertIn("defines roofline::Part, as a/x.cpp:3 does", clash["b/y.hpp"][0][1])
        for other in ("namespace roofline { struct Other { struct Part {}; }; }",
                      "namespace roofline::cli { struct Part {}; }"):
            self.assertEqual(check_layers.check_types({"a/x.cpp": hidden, "b/y.cpp": other}), {})

    def test_a_violating_tree_fails(self):
        self.write("src/base/result.hpp", "#pragma once\n")
        self.write("src/base/text.cpp", '#include "base/result.hpp"\n\nint f() { throw 1; }\n')
        self.write("src/units/dtype.hpp", '#include "report/text.hpp"\n')
        status, printed = self.run_script(check_layers)
        self.assertEqual(status, 1)
        self.assertEqual(printed.splitlines(), [
            "src/base/text.cpp:3: says throw: errors are values",
            'src/units/dtype.hpp:1: includes "report/text.hpp", but report comes after units',
            "1 passed, 2 failed"])

    def test_a_clean_tree_passes_and_an_empty_one_does_not(self):
        self.assertEqual(self.run_script(check_layers)[0], 1)
        self.write("src/base/result.hpp", "#pragma once\n")
        self.assertEqual(self.run_script(check_layers), (0, "1 passed, 0 failed\n"))
