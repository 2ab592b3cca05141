#include "report/plot/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "base/utf8.hpp"

namespace roofline::core {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool allowed_in_xml(const CodePoint& c) {
    return c.valid && !is_control(c) && !is_direction(c) && c.value != 0xFFFE && c.value != 0xFFFF;
}

/// Returns the advance width of a character in thousandths of the font size.
int advance(std::uint32_t c) {
    if (c >= 0x1100) return c < 0x2E80 ? 700 : 1000;
    if (c >= 0x80) return 650;
    const char ch = static_cast<char>(c);
    const auto one_of = [ch](std::string_view set) { return set.find(ch) != std::string_view::npos; };
    if (one_of("ijlI|'J")) return 300;
    if (one_of(" .,:;/\\()[]ft-!r")) return 400;
    if (one_of("mwMW@%")) return 960;
    if (one_of("=+<>~^#")) return 838;
    if (one_of("ADGHNOQU&")) return 775;
    if (c >= 'A' && c <= 'Z') return 690;
    return 635;
}

std::string_view anchor_name(Anchor anchor) {
    if (anchor == Anchor::middle) return "middle";
    return anchor == Anchor::start ? "start" : "end";
}

}  // namespace

std::string escape_xml(std::string_view text, bool keep_lines) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const CodePoint c = decode_utf8(text);
        if (c.value == '&')
            out += "&amp;";
        else if (c.value == '<')
            out += "&lt;";
        else if (c.value == '>')
            out += "&gt;";
        else if (c.value == '"')
            out += "&quot;";
        else if (c.value == '\'')
            out += "&#39;";
        else if (c.value == '\n' && keep_lines)
            out += '\n';
        else if (c.value == '\n' || c.value == '\t' || c.value == '\r')
            out += ' ';
        else if (allowed_in_xml(c))
            out += text.substr(0, c.length);
        else
            out += kReplacement;
        text.remove_prefix(c.length);
    }
    return out;
}

std::string shortened(std::string_view text, std::size_t limit) {
    std::size_t end = 0;          // bytes of the text that fit
    std::size_t before_last = 0;  // the same without the last character
    for (std::size_t count = 0; end < text.size() && count < limit; ++count) {
        before_last = end;
        end += decode_utf8(text.substr(end)).length;
    }
    if (end >= text.size()) return std::string(text);
    return std::string(text.substr(0, before_last)) + "\u2026";
}

double text_width(std::string_view text, double font_size) {
    double thousandths = 0;
    while (!text.empty()) {
        const CodePoint c = decode_utf8(text);
        thousandths += advance(c.value);
        text.remove_prefix(c.length);
    }
    return thousandths * font_size / 1000;
}

std::string fitted(std::string_view text, double font_size, double width) {
    // No character is narrower than 0.3 of the font size, so only the first part of a long text needs to be measured.
    std::size_t limit = static_cast<std::size_t>(std::max(1.0, width / (0.3 * font_size)));
    std::string out = shortened(text, limit);
    while (limit > 1 && text_width(out, font_size) > width) out = shortened(text, --limit);
    return out;
}

std::string svg_number(double value) {
    if (!std::isfinite(value)) return "0";
    std::string text = fmt::format("{:.2f}", value);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

void SvgWriter::open_group(std::string_view css_class, std::string_view tooltip) {
    fmt::format_to(std::back_inserter(out_), "<g class=\"{}\">\n", css_class);
    if (!tooltip.empty()) fmt::format_to(std::back_inserter(out_), "<title>{}</title>\n", escape_xml(tooltip));
}

void SvgWriter::close_group() { out_ += "</g>\n"; }

void SvgWriter::rect(std::string_view css_class, double x, double y, double width, double height) {
    fmt::format_to(std::back_inserter(out_), "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                   css_class, svg_number(x), svg_number(y), svg_number(width), svg_number(height));
}

void SvgWriter::line(std::string_view css_class, XY from, XY to) {
    fmt::format_to(std::back_inserter(out_), "<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n",
                   css_class, svg_number(from.x), svg_number(from.y), svg_number(to.x), svg_number(to.y));
}

void SvgWriter::polyline(std::string_view css_class, const std::vector<XY>& points) {
    fmt::format_to(std::back_inserter(out_), "<polyline class=\"{}\" points=\"", css_class);
    std::string_view separator;
    for (const XY& p : points) {
        fmt::format_to(std::back_inserter(out_), "{}{},{}", separator, svg_number(p.x), svg_number(p.y));
        separator = " ";
    }
    out_ += "\"/>\n";
}

void SvgWriter::mark(std::string_view css_class, Mark shape, XY centre, double radius) {
    const auto polygon = [&](const std::vector<XY>& corners) {
        fmt::format_to(std::back_inserter(out_), "<polygon class=\"{}\" points=\"", css_class);
        std::string_view separator;
        for (const XY& c : corners) {
            fmt::format_to(std::back_inserter(out_), "{}{},{}", separator, svg_number(centre.x + c.x * radius),
                           svg_number(centre.y + c.y * radius));
            separator = " ";
        }
        out_ += "\"/>\n";
    };
    switch (shape) {
        case Mark::circle:
            fmt::format_to(std::back_inserter(out_), "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", css_class,
                           svg_number(centre.x), svg_number(centre.y), svg_number(radius));
            break;
        case Mark::square:
            polygon({{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}});
            break;
        case Mark::diamond:
            polygon({{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}});
            break;
        case Mark::triangle:
            polygon({{0, -1.25}, {1.15, 0.85}, {-1.15, 0.85}});
            break;
    }
}

void SvgWriter::text(std::string_view css_class, XY at, Anchor anchor, std::string_view content, double degrees) {
    // Renderers differ in dominant-baseline, so the baseline is set explicitly, 0.35 em below the middle line.
    fmt::format_to(std::back_inserter(out_), "<text class=\"{}\" x=\"{}\" y=\"{}\" dy=\"0.35em\" text-anchor=\"{}\"",
                   css_class, svg_number(at.x), svg_number(at.y), anchor_name(anchor));
    if (degrees != 0) {
        fmt::format_to(std::back_inserter(out_), " transform=\"rotate({} {} {})\"", svg_number(degrees),
                       svg_number(at.x), svg_number(at.y));
    }
    fmt::format_to(std::back_inserter(out_), ">{}</text>\n", escape_xml(content));
}

}  // namespace roofline::core
