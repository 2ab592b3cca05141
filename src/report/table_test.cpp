#include "report/table.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

const Table table{{"id", "rate"}, {{"a", "1 GB/s"}, {"\xC3\xA9\xC3\xA9\xC3\xA9", "20"}, {"b"}}, {false, true}};

}  // namespace

TEST_CASE("columns of a text table line up by characters, not bytes") {
    CHECK(table_text(table) ==
          "id     rate\n"
          "a    1 GB/s\n"
          "\xC3\xA9\xC3\xA9\xC3\xA9      20\n"
          "b\n");
    CHECK(table_text({{"x"}, {}, {}}, 3) == "   x\n");
    CHECK(display_width("a\u202E\u00E9") == 1 + 6 + 1);  // displayed as \u202e
}

TEST_CASE("Markdown escapes what it would take for markup") {
    CHECK(table_markdown({{"a", "b"}, {{"x|y", "*z*"}}, {false, true}}) ==
          "| a | b |\n"
          "|---|---:|\n"
          "| x\\|y | \\*z\\* |\n");
}

TEST_CASE("CSV quotes what RFC 4180 says") {
    CHECK(table_csv({{"a", "b"}, {{"x,y", "he said \"no\""}, {"plain"}}, {}}) ==
          "a,b\n"
          "\"x,y\",\"he said \"\"no\"\"\"\n"
          "plain,\n");
}

TEST_CASE("fitting cuts whole characters and says so") {
    CHECK(fitted("abcdef", 6) == "abcdef");
    CHECK(fitted("abcdefg", 6) == "abc...");
    CHECK(fitted("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 4) == "\xC3\xA9...");
}

TEST_CASE("wrapping keeps to the width, counted from where the line begins") {
    CHECK(wrapped("one two three", 0, 2, 8) == "one two\n  three");
    CHECK(wrapped("one two three", 4, 0, 8) == "one\ntwo\nthree");
    CHECK(wrapped("  a   b ", 0, 0, 80) == "a b");
    CHECK(wrapped("", 0, 4, 80) == "");
    CHECK(wrapped("unbreakable", 0, 0, 4) == "unbreakable");
}

TEST_CASE("a cell of CSV that a spreadsheet would run is quoted, and a number is not") {
    Table cells;
    cells.head = {"name", "value"};
    cells.rows = {{"=cmd|' /C calc'!A0", "-1.5e-3"}, {"@sum", "+5 %"}, {"-1+1", "-"}, {"+a,b", "-2.5"}, {"a=b", "-"}};
    CHECK(table_csv(cells) == "name,value\n'=cmd|' /C calc'!A0,-1.5e-3\n'@sum,+5 %\n'-1+1,-\n\"'+a,b\",-2.5\na=b,-\n");
}
