#include "text/source.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

TEST_CASE("an offset becomes a line and a column, both from 1") {
    const Source source("ab\ncd", "");
    const auto at = [&](std::size_t offset) { return std::pair{source.span(offset).line, source.span(offset).column}; };
    CHECK(at(0) == std::pair{1, 1});
    CHECK(at(2) == std::pair{1, 3});  // the end of the first line
    CHECK(at(3) == std::pair{2, 1});
    CHECK(at(99) == std::pair{2, 3});
}

TEST_CASE("a place shows its own line, without the carriage return") {
    const Source source("first\r\nsecond\r\nthird", "f.roof");
    const Place place = source.place({2, 4});
    CHECK(place == Place{"f.roof", 2, 4, "second", 4});
    CHECK(source.place({9, 1}).text == "third");  // beyond the text: the last line, never a crash
}

TEST_CASE("a long line is cut to a window in which the caret points at the same byte") {
    std::string line(1000, 'a');
    line[700] = '?';
    const Source source(line, "");
    const Place place = source.place({1, 701});
    CHECK(place.column == 701);
    CHECK(place.text.size() < 100);
    CHECK(place.text[static_cast<std::size_t>(place.caret) - 1] == '?');
    CHECK(place.text.starts_with("..."));
    CHECK(place.text.ends_with("..."));
}

TEST_CASE("no character is cut in two at the edge of the window") {
    std::string line;
    for (int i = 0; i < 200; ++i) line += "\xC3\x97";
    const Source source(line, "");
    for (int column = 1; column < 400; column += 7) {
        std::string text = source.place({1, column}).text;
        // Without the dots only whole characters of two bytes each are left.
        std::erase(text, '.');
        REQUIRE(text.size() % 2 == 0);
        for (std::size_t i = 0; i < text.size(); i += 2) REQUIRE(text.substr(i, 2) == "\xC3\x97");
    }
}
