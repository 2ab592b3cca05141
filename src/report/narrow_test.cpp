#include "report/narrow.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

TEST_CASE("lines that fit stay as they are") {
    const std::string text = "a\n\n  b  c\nlonger line here\n";
    CHECK(narrowed(text, 16) == text);
    CHECK(narrowed("", 20) == "");
}

TEST_CASE("prose is broken at words, and goes on under its last column") {
    CHECK(narrowed("  note: one two three\n        four\n", 16) == "  note: one two\n        three\n        four\n");
    CHECK(narrowed("  lower   7 ns  if everything\n", 22) == "  lower   7 ns  if\n          everything\n");
    CHECK(narrowed("unbreakablewordthatislong\n", 10) == "unbreakablewordthatislong\n");
    CHECK(narrowed("\x1b[1mone two\x1b[0m\n", 7) == "\x1b[1mone two\x1b[0m\n");
}

TEST_CASE("a table is broken into blocks of columns, each with the columns that identify the rows") {
    CHECK(narrowed("B  time  rate  bound  of\n1  2 us  3 GB  HBM    5\n", 15) ==
          "B  time  rate\n1  2 us  3 GB\n\nB  bound  of\n1  HBM    5\n");
    CHECK(narrowed("by size\nB  time  rate  bound  of\n1  2 us  3 GB  HBM    5\n", 15) ==
          "by size\nB  time  rate\n1  2 us  3 GB\n\nB  bound  of\n1  HBM    5\n");
    CHECK(narrowed("D  B  time  rate  bound\n4  1  2 us  3 GB  HBM\n4  2  2 us  3 GB  HBM\n", 16) ==
          "D  B  time  rate\n4  1  2 us  3 GB\n4  2  2 us  3 GB\n\nD  B  bound\n4  1  HBM\n4  2  HBM\n");
}
