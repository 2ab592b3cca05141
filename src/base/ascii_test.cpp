#include "base/ascii.hpp"

#include <doctest/doctest.h>

namespace roofline::core {

TEST_CASE("trimmed removes blanks and line ends from both sides only") {
    CHECK(trimmed(" \t a b \r\n") == "a b");
    CHECK(trimmed(" \t ") == "");
    CHECK(trimmed("") == "");
}

TEST_CASE("quoted cuts long texts, between characters") {
    CHECK(in_ticks("D") == "`D`");
    CHECK(in_ticks(std::string(40, 'x')) == "`" + std::string(40, 'x') + "`");
    CHECK(in_ticks(std::string(41, 'x')) == "`" + std::string(40, 'x') + "...`");
    CHECK(in_ticks(std::string(39, 'x') + "\xC2\xB5" + "yy") == "`" + std::string(39, 'x') + "...`");
}

}  // namespace roofline::core
