#include "text/checked_toml.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "text/toml_node.hpp"

using namespace roofline::core;

namespace {

/// Whether a text is read as TomlDocument reads it.
bool read_alike(std::string_view text) {
    const auto document = TomlDocument::parse(Source(text, "t.toml"));
    const auto checked = CheckedToml::read(text);
    return document && checked && same_toml(document->root(), checked->root());
}

}  // namespace

TEST_CASE("files that the build has checked are read as by TomlDocument") {
    CHECK(read_alike(""));
    CHECK(read_alike("b = 1\na = -3\n"));
    CHECK(read_alike("# a comment\r\nreal = [0.1, 1e-7, -2.5E+3, 123456789.123456789, 1.7976931348623157e308]\r\n"));
    CHECK(read_alike("flag = true\nother = false # behind it\n"));
    CHECK(read_alike("text = \"n\xC3\xA4 \\\"me\\\" \\\\\"\nnext = \"\xC3\xA4\"\n"));
    CHECK(read_alike("text = \"\"\"\nfirst \\\n   second\nthird\"\"\"\n"));
    CHECK(read_alike("one = 'a \\ \"b\"'\ntwo = [\'\xC3\xA4\', 1]\n"));
    CHECK(read_alike("list = [ # items\n  [1, 2],\n  \"two\",\n  { z = 1, a = \"\xC3\xA4\", \"x y\" = {} },\n]\n"));
    CHECK(read_alike("a.b.c = 1\na.d = 2\n"));
    CHECK(read_alike("[a.b]\nx = 1\n[a]\ny = 2\n[\"q r\".s]\n"));
    CHECK(read_alike("[[k]]\nx = 1\n[k.inner]\ny = 2\n[[k.each]]\n[[k.each]]\nz = 3\n[[k]]\n[k.inner]\ny = 4\n"));
}

TEST_CASE("TOML that no file of data/ has is not read") {
    for (const std::string_view text :
         {"day = 2026-01-31\n", "x = 0x10\n", "x = 1_000\n", "x = '''literal'''\n", "x = \"\\u00e4\"\n", "x = 1 2\n",
          "x = inf\n", "x = 1\nx = 2\n", "x\n", "x = [1\n", "x = {a = 1\n", "[a\n", "[[a]\n", "x = \"open\n",
          "x = \"\"\"open\n", "x = 1\n[[x]]\n", "x = tru\n", "x =\n"}) {
        CAPTURE(text);
        CHECK_FALSE(CheckedToml::read(text));
    }
    CHECK_FALSE(CheckedToml::read("x = " + std::string(100, '[') + std::string(100, ']')));
}

TEST_CASE("documents differ by a value, a kind, a key or a place") {
    const auto root = [](const auto& document) { return document->root(); };
    const auto one = CheckedToml::read("a = [1, \"x\"]\n");
    for (const std::string_view text : {"a = [2, \"x\"]\n", "a = [1.0, \"x\"]\n", "b = [1, \"x\"]\n",
                                        "a =  [1, \"x\"]\n", " a = [1, \"x\"]\n", "a = [1, \"y\"]\n", "a = [1]\n"}) {
        CAPTURE(text);
        CHECK_FALSE(same_toml(root(one), root(CheckedToml::read(text))));
    }
    CHECK(same_toml(root(one), root(CheckedToml::read("a = [1, \"x\"]\n"))));
}
