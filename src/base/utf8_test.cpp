#include "base/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

TEST_CASE("well-formed characters of every length") {
    CHECK(decode_utf8("A").value == 0x41);
    CHECK(decode_utf8("\xC3\xA9!").value == 0xE9);
    CHECK(decode_utf8("\xC3\xA9!").length == 2);
    CHECK(decode_utf8("\xE2\x82\xAC").value == 0x20AC);
    CHECK(decode_utf8("\xF0\x9F\x98\x80").value == 0x1F600);
    CHECK(decode_utf8("\xF4\x8F\xBF\xBF").value == 0x10FFFF);
    CHECK(decode_utf8(std::string_view("\0", 1)).valid);
}

TEST_CASE("malformed bytes have length one and are not valid") {
    for (const std::string_view text : {"\x80", "\xC3", "\xC3(", "\xC0\xAF", "\xE0\x80\xAF", "\xF0\x80\x80\x80",
                                        "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82"}) {
        const CodePoint c = decode_utf8(text);
        CHECK(!c.valid);
        CHECK(c.length == 1);
    }
}

TEST_CASE("control characters of both blocks") {
    CHECK(is_control(decode_utf8("\x1B")));
    CHECK(is_control(decode_utf8("\x7F")));
    CHECK(is_control(decode_utf8("\xC2\x9B")));
    CHECK(!is_control(decode_utf8("\xC2\xA0")));
    CHECK(!is_control(decode_utf8(" ")));
    CHECK(!is_control(decode_utf8("\xC2")));
}

TEST_CASE("characters that change the direction of text are shown") {
    // Right-to-left override, and an isolate; letters with a similar encoding stay.
    CHECK(with_directions_shown("a\xE2\x80\xAE"
                                "b\xE2\x81\xA6 \xE2\x82\xAC \xD8\xA8 \xD8\x9C") ==
          "a\\u202eb\\u2066 \xE2\x82\xAC \xD8\xA8 \\u061c");
    CHECK(with_directions_shown("\xE2\x80") == "\xE2\x80");
    CHECK(with_directions_shown("") == "");
}
