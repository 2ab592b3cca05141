// What a report says: the sections that a command hands over, whatever file they are printed as.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// A quantity for people, with its name and a remark. A fact without a label continues the one before it.
struct PageFact {
    std::string label;
    std::string value;  ///< with its unit: "38.8 us"; "" if only the remark says something
    std::string remark{};
    std::string exact{};            ///< all digits, in SI base units: "3.8820298e-05 s"; "" if `value` is exact
    std::optional<double> share{};  ///< between 0 and 1, drawn as a bar
};
struct PageFacts {
    std::vector<PageFact> facts;
};

/// A table; more than `most` rows are shown on demand.
struct PageTable {
    Table table;
    std::string caption{};
    std::size_t most = 40;
};

struct PageText {
    std::string text;
};
struct PageList {
    std::vector<std::string> items;
};

/// Lines of a derivation. Lines of level 0 are headings; the indentation of all others grows with their level.
struct PageLine {
    std::size_t level = 0;
    std::string text;  ///< line ends are kept
};
struct PageLines {
    std::vector<PageLine> lines;
};

/// Text for a machine, such as a command: printed as it is.
struct PageCode {
    std::string text;
};

/// A picture that plot_document() has made, a complete SVG document.
struct PagePicture {
    std::string svg;
};

using PageBlock = std::variant<PageFacts, PageTable, PageText, PageList, PageLines, PageCode, PagePicture>;

/// What a section is for; a page shows its sections in this order.
enum class PagePlace : std::uint8_t {
    answer,      ///< what was found
    choice,      ///< what else there is, and why it loses
    changes,     ///< what would change the answer
    detail,      ///< where the answer comes from, part by part
    derivation,  ///< formulas with numbers put in
    basis        ///< what it rests on: measurements, sources, assumptions
};

struct PageSection {
    PagePlace place = PagePlace::answer;
    std::string title;
    std::vector<PageBlock> blocks{};
};

struct ReportPage {
    std::string title;     ///< what the answer is about
    std::string question;  ///< one sentence that ends in a question mark
    std::vector<PageFact> headline{};
    std::vector<PageSection> sections{};
    std::vector<std::string> notes{};
};

/// How the report was made.
struct PageOrigin {
    std::string version;
    std::string kind{};                ///< the program and its command: "roofline plan train"
    std::string date{};                ///< "2026-01-31"; "" omits it
    std::vector<std::string> command;  ///< the words of the command line: "roofline", "op", ...
    std::vector<Error> errors{};       ///< of machines that the report lacks
};

/// Returns an HTML document of one file: style, script and pictures are in it, and it loads nothing. Everything that it
/// says can be read without the script, which sorts tables and shows exact values on touch. All texts are escaped;
/// control characters and those that turn the direction of writing become U+FFFD.
[[nodiscard]] std::string page_html(const ReportPage& page, const PageOrigin& origin);

}  // namespace roofline::core
