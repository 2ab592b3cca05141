#include "text/toml_guard.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

namespace {

std::string repeated(std::string_view piece, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += piece;
    return text;
}

std::string code_of(std::string_view text) {
    const auto fault = toml_fault(text);
    return fault ? fault->code : "";
}

}  // namespace

TEST_CASE("ordinary files pass") {
    CHECK(code_of("") == "");
    CHECK(code_of("a.b.c = \"x.y.z\"\n[[memory]]\nlist = [[1.5, 2.5], [3.5]]\n") == "");
    CHECK(code_of("name = \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"\n") == "");
}

TEST_CASE("deep keys and brackets are refused before anything recurses over them") {
    CHECK(code_of("a" + repeated(".a", 32) + " = 1") == "");
    CHECK(code_of("a" + repeated(".a", 33) + " = 1") == "too_deep");
    CHECK(code_of("[a" + repeated(" . \"a\"", 400'000 / 8) + "]") == "too_deep");
    CHECK(code_of("a = { b" + repeated(".b", 5000) + " = 1 }") == "too_deep");
    CHECK(code_of("a = " + repeated("[", 33)) == "too_deep");
    CHECK(code_of("a = " + repeated("{a=", 400)) == "too_deep");
}

TEST_CASE("brackets that do not match are refused, because the parser does not check them") {
    CHECK(code_of("s=[}") == "toml");
    CHECK(code_of("s={]") == "toml");
    CHECK(code_of("s=]") == "toml");
    CHECK(code_of("[a]]") == "toml");
    CHECK(code_of("s=[{a=1}, {a=2}]") == "");
    CHECK(code_of("s=[\"}\", '{']  # ]") == "");
}

TEST_CASE("dots and brackets in strings and comments do not count") {
    const std::string dots(500, '.');
    CHECK(code_of("a = \"" + dots + "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"\n") == "");
    CHECK(code_of("a = '" + dots + "'\n# " + dots + "\n") == "");
    CHECK(code_of("a = \"\"\"\n" + dots + "\n\"" + dots + "\"\"\"\n") == "");
    CHECK(code_of("a = \"\\\"" + dots + "\"\n") == "");
    CHECK(code_of("a = 'it'\n" + repeated("b.c = 1.5\n", 100)) == "");
}

TEST_CASE("a string begins where a value may begin, and ends") {
    CHECK(code_of("a = 7.82'\xC6\x9C'") == "toml");
    CHECK(code_of("a = 7.'\xC6\x9C'") == "toml");
    CHECK(code_of("a = -\x01\"\xC6\x9C\"") == "toml");
    CHECK(code_of("a = -\r\"\xC6\x9C\"") == "toml");
    CHECK(code_of("\xEF\xBB\xBF\"a\" = [\"b\",'c']\r\n\"d\".\"e\" = 1") == "");
    CHECK(code_of("a = true\"\xC6\x9C\"") == "toml");
    CHECK(code_of("a = -[\"\xC6\x9C\"]") == "toml");
    CHECK(code_of("a = 1{b = \"\xC6\x9C\"}") == "toml");
    CHECK(code_of("a.[\"\xC6\x9C\"] = 1") == "toml");
    CHECK(code_of("a = -=\"\xC6\x9C\"") == "toml");
    CHECK(code_of("a = [\n-b=\"\xC6\x9C\"]") == "toml");
    CHECK(code_of("a = \"\"\"b\\\n \xC6\x9C\"\"\"") == "toml");
    CHECK(code_of("a = \"\"\"b\\\xC6\x9C\"\"\"") == "toml");
    CHECK(code_of("a = \"\"\"b\\\n c \xC6\x9C\"\"\"\nd = [{e = [1], g = {h = 1}}, {f = 2}]\ni = {j = 1}\nk = 2") == "");
    CHECK(code_of("a = 'b") == "toml");
    CHECK(code_of("a = \"b\nc = 1\n") == "toml");
    CHECK(code_of("a = \"\"\"b\"") == "toml");
    CHECK(code_of("a.\"b\".'c' = 'd'\n[\"e\".'f']\ng = { h.'i' = 1, j.'k' = \"l\" }\n") == "");
    CHECK(code_of("a = \"\"\"\"b\"\"\"\"\"\nc = '''d''''\n") == "");
}

TEST_CASE("a table's header has a name") {
    for (const char* text : {"[[[\n", "id = 5\n[[[\n", "[\n", "[", "[[", "[ [a]]", "[.a]", "[=]",
                             "\xEF\xBB\xBF"
                             "[[[",
                             "a = 1\v[\n",
                             "[\xC2\xA0"
                             "a]"}) {
        CHECK_MESSAGE(code_of(text) == "toml", text);
    }
    for (const char* text : {"[a]", "[ \t\"a b\" ]", "[['a']]", "[[ -1_ ]]\nb = [\n  [], [[1]]\n]", "[]", "a =\t["}) {
        CHECK_MESSAGE(code_of(text) == "", text);
    }
}

TEST_CASE("non-ASCII characters only in strings and comments") {
    CHECK(code_of("\xCD\x9B") == "toml");
    CHECK(code_of("caf\xC3\xA9 = 1") == "toml");
    CHECK(code_of("a = \xE2\x80\x9C"
                  "b\xE2\x80\x9D") == "toml");  // quotes of a word processor
    CHECK(code_of("a = '\xC3\xA9' # \xC3\xA9\n\"\xC3\xA9\" = \"\"\"\xC3\xA9\"\"\"") == "");
    CHECK(code_of("\xEF\xBB\xBF"
                  "a = 1") == "");
}

TEST_CASE("text that is not UTF-8 is refused with the byte at which it was noticed") {
    CHECK(toml_fault("ab\xFF")->offset == 2);
    CHECK(code_of("\xC3") == "not_text");              // cut short
    CHECK(code_of("\xC0\xAF") == "not_text");          // overlong
    CHECK(code_of("\xE0\x80\xAF") == "not_text");      // overlong
    CHECK(code_of("\xED\xA0\x80") == "not_text");      // half of a surrogate pair
    CHECK(code_of("\xF4\x90\x80\x80") == "not_text");  // beyond the last character
    CHECK(code_of(std::string("a\0b", 3)) == "not_text");
}

TEST_CASE("more than a megabyte is refused") {
    CHECK(code_of(std::string(1'000'000, '\n')) == "");
    CHECK(code_of(std::string(1'000'001, '\n')) == "too_large");
}
