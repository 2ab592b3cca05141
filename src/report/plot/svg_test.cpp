#include "report/plot/svg.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace roofline::core {

TEST_CASE("markup in labels is escaped") {
    CHECK(escape_xml("a<b & \"c\" > 'd'") == "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
    CHECK(escape_xml("]]>") == "]]&gt;");
}

TEST_CASE("what XML forbids becomes a replacement character") {
    const std::string bad = "\xEF\xBF\xBD";
    CHECK(escape_xml(std::string("a\0b\x1b", 4)) == "a" + bad + "b" + bad);
    CHECK(escape_xml("\x7f") == bad);
    CHECK(escape_xml("\xff") == bad);
    CHECK(escape_xml("\xc0\xaf") == bad + bad);                      // an overlong '/'
    CHECK(escape_xml("\xed\xa0\x80") == bad + bad + bad);            // half of a surrogate pair
    CHECK(escape_xml("\xef\xbf\xbf") == bad);                        // U+FFFF
    CHECK(escape_xml("\xe2\x82") == bad + bad);                      // cut off
    CHECK(escape_xml("\xf4\x90\x80\x80") == bad + bad + bad + bad);  // beyond U+10FFFF
}

TEST_CASE("other text stays as it is") {
    CHECK(escape_xml("\u00b5s \u03b1 \u6f22 \U0001F600") == "\u00b5s \u03b1 \u6f22 \U0001F600");
    CHECK(escape_xml("a\tb\nc\r") == "a b c ");
    CHECK(escape_xml("a\nb", true) == "a\nb");
}

TEST_CASE("shortening counts characters and never cuts one") {
    CHECK(shortened("abc", 3) == "abc");
    CHECK(shortened("abcd", 3) == "ab\u2026");
    CHECK(shortened("\u03b1\u03b2\u03b3\u03b4", 3) == "\u03b1\u03b2\u2026");
    CHECK(shortened("", 3).empty());
}

TEST_CASE("fitting measures") {
    CHECK(fitted("short", 12, 100) == "short");
    const std::string cut = fitted(std::string(1000, 'W'), 12, 100);
    CHECK(text_width(cut, 12) <= 100);
    CHECK(text_width(cut, 12) > 80);
}

TEST_CASE("widths grow with the text and the size") {
    CHECK(text_width("", 12) == 0);
    CHECK(text_width("abab", 12) == approx(2 * text_width("ab", 12)));
    CHECK(text_width("ab", 24) == approx(2 * text_width("ab", 12)));
    CHECK(text_width("W", 12) > text_width("i", 12));
    // Metrics of DejaVu Sans at 12 px: H 9.02, B 8.23, M 10.36.
    CHECK(text_width("HBM", 12) >= 27.6);
    CHECK(text_width("HBM", 12) < 31);
}

TEST_CASE("coordinates are short and always numbers") {
    CHECK(svg_number(1) == "1");
    CHECK(svg_number(1.5) == "1.5");
    CHECK(svg_number(2.0 / 3) == "0.67");
    CHECK(svg_number(-0.001) == "0");
    CHECK(svg_number(100) == "100");
    CHECK(svg_number(std::nan("")) == "0");
    CHECK(svg_number(std::numeric_limits<double>::infinity()) == "0");
}

TEST_CASE("elements") {
    SvgWriter svg;
    svg.open_group("g", "a < b");
    svg.line("l", {0, 1}, {2, 3.25});
    svg.text("t", {5, 6}, Anchor::end, "x&y", -45);
    svg.mark("m", Mark::circle, {7, 8}, 4);
    svg.close_group();
    CHECK(svg.str() ==
          "<g class=\"g\">\n<title>a &lt; b</title>\n"
          "<line class=\"l\" x1=\"0\" y1=\"1\" x2=\"2\" y2=\"3.25\"/>\n"
          "<text class=\"t\" x=\"5\" y=\"6\" dy=\"0.35em\" text-anchor=\"end\" transform=\"rotate(-45 5 "
          "6)\">x&amp;y</text>\n"
          "<circle class=\"m\" cx=\"7\" cy=\"8\" r=\"4\"/>\n</g>\n");
}

}  // namespace roofline::core

TEST_CASE("characters that turn the direction of text are no part of a label") {
    CHECK(roofline::core::escape_xml("a\xE2\x80\xAE"
                                     "b") ==
          "a\xEF\xBF\xBD"
          "b");
}
