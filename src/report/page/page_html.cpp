#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/page/page.hpp"
#include "report/page/page_style.hpp"
#include "report/plot/svg.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t long_headline = 14;     ///< characters from which a headline is set smaller
constexpr std::size_t long_cell = 28;         ///< characters from which a cell is broken
constexpr std::size_t long_derivation = 100;  ///< lines from which a derivation is folded

std::string escaped(std::string_view text) { return escape_xml(text, true); }

// ` title="3.88e-05 s"`
std::string title_attribute(std::string_view exact) {
    return exact.empty() ? "" : fmt::format(" title=\"{}\"", escape_xml(exact));
}

// A word of a command line as a shell reads it.
std::string shell_word(std::string_view word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%^";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
    return line;
}

/// A picture inside a page: without its style sheet, which is added to that of the page.
struct SplitPicture {
    std::string style;
    std::string description;  ///< still escaped
    std::string svg;
};

SplitPicture split_picture(std::string_view svg) {
    const auto between = [&](std::string_view open, std::string_view close) -> std::pair<std::size_t, std::size_t> {
        const std::size_t from = svg.find(open);
        const std::size_t to = from == std::string_view::npos ? from : svg.find(close, from);
        if (to == std::string_view::npos) return {0, 0};
        return {svg.find('>', from) + 1, to};
    };
    SplitPicture split;
    const auto [style_from, style_to] = between("<style>", "</style>");
    const auto [about_from, about_to] = between("<desc", "</desc>");
    split.style = svg.substr(style_from, style_to - style_from);
    split.description = svg.substr(about_from, about_to - about_from);
    split.svg = svg;
    if (style_to > 0) {
        constexpr std::string_view open = "<style>";
        constexpr std::string_view close = "</style>";
        split.svg.erase(style_from - open.size(), style_to + close.size() - (style_from - open.size()));
    }
    return split;
}

class Page {
public:
    Page(const ReportPage& page, const PageOrigin& origin) : page_(page), origin_(origin) {}

    std::string run() {
        header();
        headline();
        std::vector<std::size_t> order(page_.sections.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::pair(page_.sections[a].place, a) < std::pair(page_.sections[b].place, b);
        });
        for (const std::size_t i : order) section(page_.sections[i]);
        notes();
        origin();
        return document();
    }

private:
    template <class... Arguments>
    void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    }

    [[nodiscard]] std::string document() const {
        std::string style(page_style());
        for (const std::string& each : styles_) style += each;
        return fmt::format(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "script-src '{}'; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"roofline {}\">\n"
            "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}<script>{}</script>\n</body>\n</html>\n",
            page_script_hash(), escape_xml(origin_.version), escape_xml(page_.title), style, out_, page_script());
    }

    void header() {
        put("<header>\n<p class=\"kind\">{}{}{}</p>\n<h1>{}</h1>\n", escape_xml(origin_.kind),
            origin_.kind.empty() || origin_.date.empty() ? "" : ", ", escape_xml(origin_.date),
            escape_xml(page_.title));
        if (!page_.question.empty()) put("<p class=\"question\">{}</p>\n", escape_xml(page_.question));
        out_ += "</header>\n<main>\n";
    }

    void headline() {
        for (const Error& error : origin_.errors) {
            put("<p class=\"warning\">Left out: {}{}{}</p>\n", escaped(error.message), error.hint.empty() ? "" : "; ",
                escaped(error.hint));
        }
        if (page_.headline.empty()) return;
        out_ += "<dl class=\"headline\">\n";
        for (const PageFact& fact : page_.headline) {
            put("<div><dt>{}</dt><dd{}{}>{}</dd>", escaped(fact.label),
                display_width(fact.value) > long_headline ? " class=\"long\"" : "", title_attribute(fact.exact),
                escaped(fact.value));
            if (!fact.remark.empty()) put("<dd class=\"remark\">{}</dd>", escaped(fact.remark));
            out_ += "</div>\n";
        }
        out_ += "</dl>\n";
    }

    void section(const PageSection& section) {
        put("<section>\n<h2>{}</h2>\n", escaped(section.title));
        for (const PageBlock& block : section.blocks) {
            std::visit([&](const auto& each) { print(each, section); }, block);
        }
        out_ += "</section>\n";
    }

    void print(const PageFacts& facts, const PageSection&) {
        out_ += "<table class=\"facts\"><tbody>\n";
        for (const PageFact& fact : facts.facts) {
            const std::string label = escaped(fact.label);
            if (fact.value.empty()) {
                put("<tr><th scope=\"row\">{}</th><td class=\"wide\" colspan=\"2\">{}</td></tr>\n", label,
                    escaped(fact.remark));
                continue;
            }
            // A long value would make the column of numbers too wide for all others.
            if (display_width(fact.value) > long_cell) {
                put("<tr><th scope=\"row\">{}</th><td class=\"wide\" colspan=\"2\"{}>{}{}{}</td></tr>\n", label,
                    title_attribute(fact.exact), escaped(fact.value), fact.remark.empty() ? "" : "; ",
                    escaped(fact.remark));
                continue;
            }
            put("<tr><th scope=\"row\">{}</th><td class=\"value\"{}>{}</td><td class=\"remark\">{}{}</td></tr>\n",
                label, title_attribute(fact.exact), escaped(fact.value), share_bar(fact.share), escaped(fact.remark));
        }
        out_ += "</tbody></table>\n";
    }

    static std::string share_bar(const std::optional<double>& share) {
        if (!share || !std::isfinite(*share)) return "";
        return fmt::format(
            "<svg class=\"share\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
            "width=\"{}\" height=\"8\"/></svg>",
            svg_number(100 * std::clamp(*share, 0.0, 1.0)));
    }

    void print(const PageTable& table, const PageSection& section) {
        const std::string& name = table.caption.empty() ? section.title : table.caption;
        const std::size_t all = table.table.rows.size();
        const std::size_t shown = all > table.most + table.most / 4 ? table.most : all;
        rows(table.table, 0, shown, table.caption, name);
        if (shown == all) return;
        put("<details><summary>{} more rows</summary>\n", all - shown);
        rows(table.table, shown, all, "", name);
        out_ += "</details>\n";
    }

    void rows(const Table& table, std::size_t from, std::size_t to, std::string_view caption, std::string_view name) {
        put("<div class=\"scroll\" role=\"region\" aria-label=\"{}\" tabindex=\"0\"><table class=\"data\">\n",
            escape_xml(name));
        if (!caption.empty()) put("<caption>{}</caption>\n", escaped(caption));
        const auto right = [&](std::size_t column) { return column < table.right.size() && table.right[column]; };
        out_ += "<thead><tr>";
        for (std::size_t i = 0; i < table.head.size(); ++i) {
            put("<th scope=\"col\"{}>{}</th>", right(i) ? " class=\"r\"" : "", escaped(table.head[i]));
        }
        out_ += "</tr></thead>\n<tbody>\n";
        for (std::size_t row = from; row < to; ++row) {
            out_ += "<tr>";
            for (std::size_t i = 0; i < table.head.size(); ++i) {
                const std::string text = i < table.rows[row].size() ? table.rows[row][i] : "";
                const std::string exact = exact_of(table, row, i);
                const bool words = !right(i) && display_width(text) > long_cell;
                put("<td{}{}{}>{}</td>",
                    right(i) ? " class=\"r\""
                    : words  ? " class=\"words\""
                             : "",
                    value_attribute(exact), title_attribute(exact), escaped(text));
            }
            out_ += "</tr>\n";
        }
        out_ += "</tbody></table></div>\n";
    }

    static std::string exact_of(const Table& table, std::size_t row, std::size_t column) {
        if (row >= table.exact.size() || column >= table.exact[row].size()) return "";
        return table.exact[row][column];
    }

    // The number by which a cell is sorted.
    static std::string value_attribute(std::string_view exact) {
        const std::string_view number = exact.substr(0, exact.find(' '));
        if (number.empty() || number.find_first_not_of("0123456789.e+-") != std::string_view::npos) return "";
        return fmt::format(" data-v=\"{}\"", number);
    }

    void print(const PageText& text, const PageSection&) { put("<p>{}</p>\n", escaped(text.text)); }

    void print(const PageList& list, const PageSection&) { items(list.items); }

    void items(const std::vector<std::string>& all) {
        out_ += "<ul>\n";
        for (const std::string& item : all) put("<li>{}</li>\n", escaped(item));
        out_ += "</ul>\n";
    }

    void print(const PageLines& lines, const PageSection&) {
        const bool folded = lines.lines.size() > long_derivation;
        if (folded) put("<details><summary>All {} lines</summary>\n", lines.lines.size());
        out_ += "<div class=\"lines\">\n";
        constexpr std::size_t deepest = 4;
        for (const PageLine& line : lines.lines) {
            if (line.level == 0) {
                put("<h3>{}</h3>\n", escaped(line.text));
            } else {
                put("<p class=\"l{}\">{}</p>\n", std::min(line.level, deepest), escaped(line.text));
            }
        }
        out_ += folded ? "</div>\n</details>\n" : "</div>\n";
    }

    void print(const PageCode& code, const PageSection&) { put("<pre>{}</pre>\n", escaped(code.text)); }

    void print(const PagePicture& picture, const PageSection&) {
        SplitPicture split = split_picture(picture.svg);
        if (!split.style.empty() && std::find(styles_.begin(), styles_.end(), split.style) == styles_.end()) {
            styles_.push_back(std::move(split.style));
        }
        put("<figure>\n<div class=\"picture\" tabindex=\"0\">{}</div>\n", with_own_ids(split.svg));
        if (!split.description.empty()) {
            out_ += "<details><summary>The picture in numbers</summary>\n";
            twin(split.description);
            out_ += "</details>\n";
        }
        out_ += "</figure>\n";
    }

    // Two pictures of a page may be equal, and with them the ids that their tags have.
    std::string with_own_ids(std::string svg) {
        constexpr std::string_view before = "aria-labelledby=\"";
        const std::size_t from = svg.find(before);
        const std::size_t to = svg.find("-title", from);
        if (to == std::string::npos) return svg;
        const std::string id = svg.substr(from + before.size(), to - from - before.size());
        const std::string own = fmt::format("{}-{}", id, ++pictures_);
        for (std::size_t at = svg.find(id); at != std::string::npos; at = svg.find(id, at + own.size())) {
            svg.replace(at, id.size(), own);
        }
        return svg;
    }

    // The description of a picture as text and tables: lines of cells, before which a line may name the columns in
    // brackets. It is escaped already.
    void twin(std::string_view description) {
        constexpr std::string_view between = " | ";
        std::vector<std::vector<std::string_view>> rows;
        std::vector<std::string_view> head;
        const auto cells = [&](std::string_view line) {
            std::vector<std::string_view> row;
            for (std::size_t at = line.find(between); at != std::string_view::npos; at = line.find(between)) {
                row.push_back(line.substr(0, at));
                line.remove_prefix(at + between.size());
            }
            row.push_back(line);
            return row;
        };
        const auto finish = [&] {
            if (rows.empty()) return;
            out_ += "<div class=\"scroll\"><table class=\"data\">\n";
            if (!head.empty()) {
                out_ += "<thead><tr>";
                for (const std::string_view cell : head) put("<th scope=\"col\">{}</th>", cell);
                out_ += "</tr></thead>\n";
            }
            out_ += "<tbody>\n";
            for (const auto& row : rows) {
                out_ += "<tr>";
                for (const std::string_view cell : row) put("<td>{}</td>", cell);
                out_ += "</tr>\n";
            }
            out_ += "</tbody></table></div>\n";
            rows.clear();
            head.clear();
        };
        while (!description.empty()) {
            const std::size_t end = std::min(description.find('\n'), description.size());
            const std::string_view line = description.substr(0, end);
            description.remove_prefix(std::min(end + 1, description.size()));
            const std::size_t bracket = line.find('(');
            if (line.empty()) continue;
            if (line.find(between) != std::string_view::npos && !line.ends_with(':')) {
                rows.push_back(cells(line));
                continue;
            }
            finish();
            if (line.ends_with("):") && line.find(between) != std::string_view::npos) {
                put("<p>{}</p>\n", line.substr(0, line.find_last_not_of(' ', bracket - 1) + 1));
                head = cells(line.substr(bracket + 1, line.size() - bracket - 3));
            } else {
                put("<p>{}</p>\n", line);
            }
        }
        finish();
    }

    void notes() {
        if (page_.notes.empty()) return;
        out_ += "<section>\n<h2>Assumptions and remarks</h2>\n";
        items(page_.notes);
        out_ += "</section>\n";
    }

    void origin() {
        if (!origin_.command.empty()) {
            put("<section>\n<h2>How to reproduce this report</h2>\n<pre>{}</pre>\n</section>\n",
                escaped(shell_line(origin_.command)));
        }
        put("</main>\n<footer>roofline {}{}{}. This file holds all that it shows and loads nothing. Point at a "
            "number, or touch it, to see its exact value.</footer>\n",
            escape_xml(origin_.version), origin_.date.empty() ? "" : ", ", escape_xml(origin_.date));
    }

    const ReportPage& page_;
    const PageOrigin& origin_;
    std::vector<std::string> styles_;  ///< of the pictures, each once
    int pictures_ = 0;
    std::string out_;
};

}  // namespace

std::string page_html(const ReportPage& page, const PageOrigin& origin) { return Page(page, origin).run(); }

}  // namespace roofline::core
