#include "text/toml_node.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace roofline::core;

namespace {

constexpr std::string_view text =
    "name = \"n\xC3\xA4"
    "me\"\nwhole = -3\n[inner]\nreal = 0.5\nflag = true\nday = 2026-01-31\nlist = [1, \"two\", [3]]\n"
    "[[entry]]\nb = 1\na = 2\n[[entry]]\n";

TomlDocument parsed(std::string_view toml) {
    auto document = TomlDocument::parse(Source(toml, "t.toml"));
    REQUIRE(document);
    return *std::move(document);
}

}  // namespace

TEST_CASE("the nodes of a document have its values, kinds and places") {
    const TomlDocument document = parsed(text);
    const TomlNode root = document.root();
    CHECK(root.is(TomlKind::table));
    CHECK(root.size() == 4);
    CHECK(root.find("name").text() ==
          "n\xC3\xA4"
          "me");
    CHECK(root.find("name").place() == TomlPlace{1, 8});
    CHECK(root.find("name").key_place() == TomlPlace{1, 1});
    CHECK(root.find("whole").whole() == -3);
    CHECK(root.find("whole").number() == -3);
    CHECK_FALSE(root.find("nothing"));
    CHECK_FALSE(root.find("whole").find("nothing"));
    const TomlNode inner = root.find("inner");
    CHECK(inner.find("real").number() == 0.5);
    CHECK(inner.find("flag").flag());
    CHECK(inner.find("day").is(TomlKind::moment));
    const TomlNode list = inner.find("list");
    REQUIRE(list.size() == 3);
    CHECK(list[1].text() == "two");
    CHECK(list[1].index_in(list) == 1);
    CHECK(list[2][0].whole() == 3);
    CHECK(list[0].text().empty());
    CHECK(list[0].size() == 0);
}

TEST_CASE("members of a table are in the order of their keys") {
    const TomlDocument document = parsed(text);
    const TomlNode entries = document.root().find("entry");
    REQUIRE(entries.size() == 2);
    std::vector<std::string> keys;
    for (const TomlNode member : entries[0]) keys.emplace_back(member.key());
    CHECK(keys == std::vector<std::string>{"a", "b"});
    CHECK(entries[1].size() == 0);
    CHECK(entries[0].find("b").key_place() == TomlPlace{9, 1});
}

TEST_CASE("a document stays where its nodes are when it is moved, and one without a text is an empty table") {
    TomlDocument document = parsed(text);
    const TomlNode name = document.root().find("name");
    const TomlDocument moved = std::move(document);
    CHECK(moved.root().find("name").text().data() == name.text().data());
    CHECK(TomlDocument().root().size() == 0);
    CHECK_FALSE(TomlDocument().root().find("name"));
}

TEST_CASE("what is not TOML is an error at its place in bytes, with the remedy given") {
    const auto wrong = TomlDocument::parse(Source("a = 1\nb = \"\xC3\xA4\" 2\n", "t.toml"), "mend it");
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == "toml");
    CHECK(wrong.error().hint == "mend it");
    REQUIRE(wrong.error().place);
    CHECK(wrong.error().place->line == 2);
    CHECK(wrong.error().place->text == "b = \"\xC3\xA4\" 2");
    CHECK(span_of({2, 8}, "a = 1\nb = \"\xC3\xA4\" 2\n").column == 9);
    CHECK(TomlDocument::parse(Source(std::string(100, '['), "t.toml")).error().code == "toml");
}

TEST_CASE("a node as a value of the kind that JSON gives") {
    const TomlDocument document = parsed(text);
    const FileValue value = file_value(document.root());
    CHECK(value.find("name")->text ==
          "n\xC3\xA4"
          "me");
    CHECK(value.find("whole")->whole == -3);
    CHECK(value.find("whole")->real == -3);
    const FileValue* inner = value.find("inner");
    REQUIRE(inner != nullptr);
    CHECK(inner->find("flag")->boolean);
    CHECK(inner->find("real")->real == 0.5);
    CHECK(inner->find("day")->is_null());
    CHECK(inner->find("list")->items.size() == 3);
}
