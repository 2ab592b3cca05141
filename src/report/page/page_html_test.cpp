#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/page/page_style.hpp"
#include "report/page/page_writer.hpp"
#include "report/plot/shares.hpp"

namespace roofline::core {

namespace {

constexpr const char* hostile = "<script>alert('x')</script>\"&'><img src=x onerror=alert(1)>";

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

bool has_text(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// A page with the same word in every place that takes a text.
ReportPage page_full_of(const std::string& word, bool drawn = true) {
    PageWriter page;
    page.title(word);
    page.question(word);
    page.headline({word, word, word, word});
    page.section(PagePlace::answer, word);
    page.fact({word, word, word, word, 0.5});
    page.fact({word, "", word});
    page.say(word);
    page.list({word});
    page.lines({{0, word}, {1, word}, {9, word}});
    page.code(word);
    Table table{{word, word}, {}, {false, true}};
    TableRow(table).text(word, word + " in full").number(word, 1.5, "s");
    page.table(std::move(table), word);
    if (drawn) page.picture(to_svg(SharesPlot{word, word, {{word, word, {{word, 1, word}, {"other", 2, word}}}}}));
    page.note(word);
    return page.take();
}

}  // namespace

TEST_CASE("no text of a page becomes markup, wherever it stands") {
    PageOrigin origin{hostile, hostile, hostile, {"roofline", "op", hostile}, {{"code", hostile, hostile, {}}}};
    const std::string html = page_html(page_full_of(hostile), origin);
    CHECK(count_of(html, "<script") == 1);  // the page's own
    CHECK(count_of(html, "<img") == 0);
    CHECK_FALSE(has_text(html, "alert('x')"));
    CHECK(has_text(html, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;&#39;&gt;&lt;img src=x"));
    // In the command a quote is escaped for the shell, and then for the page.
    CHECK(has_text(html, "alert(&#39;\\&#39;&#39;x&#39;\\&#39;&#39;)"));
    // A harmless word gives a page of the same tags. (Pictures leave out labels that have no room.)
    const PageOrigin plain{"1", "k", "d", {"w"}, {{"c", "m", "h", {}}}};
    CHECK(count_of(page_html(page_full_of(hostile, false), origin), "<") ==
          count_of(page_html(page_full_of(std::string(60, 'w'), false), plain), "<"));
}

TEST_CASE("control characters and those that turn the direction of writing are shown as replaced") {
    PageWriter page;
    page.title(
        "a\x01"
        "b\u202Ec");
    const std::string html = page_html(page.take(), {"1", "", "", {}, {}});
    CHECK(has_text(html, "<h1>a\uFFFDb\uFFFDc</h1>"));
    CHECK(has_text(html, "<title>a\uFFFDb\uFFFDc</title>"));
}

TEST_CASE("a page loads nothing and admits no script but its own") {
    const std::string html = page_html(page_full_of("word"), {"0.1.0", "roofline op", "2026-01-31", {"roofline"}, {}});
    CHECK(has_text(html, "default-src 'none'"));
    CHECK(has_text(html, "script-src '" + std::string(page_script_hash()) + "'"));
    for (const std::string_view part :
         {"http://", "https://", " src=", " href=", "url(", "@import", " style=", " onclick="}) {
        const std::size_t names = part == "http://" ? count_of(html, "http://www.w3.org/2000/svg") : 0;
        CAPTURE(part);
        CHECK(count_of(html, part) == names);
    }
    CHECK(count_of(html, "<style>") == 1);
    CHECK(has_text(html, "roofline op, 2026-01-31"));
}

TEST_CASE("numbers have their exact values as titles") {
    PageWriter page;
    page.headline({"time", "1.2 ms", "", "0.0012 s"});
    page.section(PagePlace::answer, "Answer");
    page.fact({"lower", "38.8 us", "if", "3.88e-05 s"});
    Table table{{"name", "time"}, {}, {false, true}};
    TableRow(table).text("a").number("2 s", 2, "s");
    TableRow(table).text("long n...", "long name").text("-");
    page.table(std::move(table));
    const std::string html = page_html(page.take(), {"1", "", "", {}, {}});
    CHECK(has_text(html, "<dd title=\"0.0012 s\">1.2 ms</dd>"));
    CHECK(has_text(html, "<td class=\"value\" title=\"3.88e-05 s\">38.8 us</td>"));
    CHECK(has_text(html, "<td class=\"r\" data-v=\"2\" title=\"2 s\">2 s</td>"));
    CHECK(has_text(html, "<td title=\"long name\">long n...</td>"));
    CHECK(has_text(html, "<td class=\"r\">-</td>"));
}

TEST_CASE("sections come by their place and then as they were written, and empty ones not at all") {
    PageWriter page;
    page.section(PagePlace::basis, "last");
    page.say("x");
    page.section(PagePlace::changes, "empty");
    page.section(PagePlace::detail, "third");
    page.say("x");
    page.section(PagePlace::answer, "first");
    page.say("x");
    page.section(PagePlace::answer, "second");
    page.say("  wrapped\n      text ");
    const std::string html = page_html(page.take(), {"1", "", "", {}, {}});
    std::vector<std::size_t> places;
    for (const std::string_view title : {"first", "second", "third", "last"}) {
        places.push_back(html.find("<h2>" + std::string(title) + "</h2>"));
    }
    CHECK(std::is_sorted(places.begin(), places.end()));
    CHECK(places.back() != std::string::npos);
    CHECK_FALSE(has_text(html, "<h2>empty</h2>"));
    CHECK(has_text(html, "<p>wrapped text</p>"));
}

TEST_CASE("a long table shows its first rows and the others on demand") {
    Table table{{"n"}, {}, {true}};
    for (int i = 0; i < 100; ++i) TableRow(table).number(std::to_string(i), i);
    PageWriter page;
    page.section(PagePlace::answer, "Numbers");
    page.table(table);
    const std::string html = page_html(page.take(), {"1", "", "", {}, {}});
    CHECK(has_text(html, "<summary>60 more rows</summary>"));
    CHECK(count_of(html, "<tr><td") == 100);
}

TEST_CASE("a long derivation is folded, a short one is not") {
    for (const std::size_t count : {std::size_t{100}, std::size_t{101}}) {
        PageWriter page;
        page.section(PagePlace::derivation, "Derivation");
        page.lines(std::vector<PageLine>(count, {1, "T = W / P"}));
        const std::string html = page_html(page.take(), {});
        CHECK(count_of(html, "T = W / P") == count);
        CHECK(has_text(html, "<summary>All 101 lines</summary>") == (count == 101));
        CHECK(count_of(html, "<details>") == count_of(html, "</details>"));
    }
}

TEST_CASE("a picture has its numbers as a table, and its style sheet goes to that of the page") {
    const std::string svg =
        to_svg(SharesPlot{"Memory", "of a chip", {{"a chip", "3 GB", {{"weights", 1, "1 GB"}, {"cache", 2, "2 GB"}}}}});
    PageWriter page;
    page.section(PagePlace::answer, "Pictures");
    page.picture(svg);
    page.picture(svg);
    const std::string html = page_html(page.take(), {"1", "", "", {}, {}});
    CHECK(count_of(html, "<svg") == 2);
    CHECK(count_of(html, "<style>") == 1);
    CHECK(count_of(html, ".rl-plot .heading{") == 1);
    CHECK(has_text(html, "<td>weights</td><td>1 GB</td><td>33.33 %</td>"));
    CHECK(has_text(html, "<title>weights: 1 GB (33.3 %)</title>"));
}

TEST_CASE("a page that is added keeps its notes once, and its sections are named") {
    PageWriter one;
    one.headline({"time", "1 s"});
    one.section(PagePlace::answer, "Time");
    one.say("x");
    one.note("said");
    PageWriter page;
    page.note("said");
    page.add(one.take(), "H100");
    const ReportPage all = page.take();
    CHECK(all.headline.empty());
    REQUIRE(all.sections.size() == 1);
    CHECK(all.sections.front().title == "H100: Time");
    CHECK(all.notes.size() == 1);
}

}  // namespace roofline::core
