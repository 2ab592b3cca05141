// A small SVG writer: escaping, numbers, and shapes with CSS classes. It has no knowledge of plots.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::core {

/// Escapes text for XML content and attributes. Control characters, invalid UTF-8 and code points that XML forbids
/// become U+FFFD. Tabs and line ends become spaces unless `keep_lines`.
[[nodiscard]] std::string escape_xml(std::string_view text, bool keep_lines = false);

/// Returns the first `limit` characters (code points, not bytes); if something was cut off, the last one is an
/// ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

/// Cuts the text with an ellipsis if it is wider than `width` pixels at this font size.
[[nodiscard]] std::string fitted(std::string_view text, double font_size, double width);

/// Returns the width in pixels at a font size in pixels. It uses the metrics of DejaVu Sans, the widest font of the
/// list, so that a label that fits by this estimate fits in all of them.
[[nodiscard]] double text_width(std::string_view text, double font_size);

/// Formats a coordinate with at most two decimals, without exponent and "-0". Values that are not finite become 0.
[[nodiscard]] std::string svg_number(double value);

struct XY {
    double x = 0;
    double y = 0;
};

enum class Anchor { start, middle, end };

/// The shape of a data mark; shapes distinguish series for readers who cannot distinguish colours.
enum class Mark { circle, square, diamond, triangle };

/// Collects elements in drawing order. Class names are written as given; all other text is escaped.
class SvgWriter {
public:
    void open_group(std::string_view css_class, std::string_view tooltip = {});
    void close_group();
    void rect(std::string_view css_class, double x, double y, double width, double height);
    void line(std::string_view css_class, XY from, XY to);
    void polyline(std::string_view css_class, const std::vector<XY>& points);
    void mark(std::string_view css_class, Mark shape, XY centre, double radius);
    /// Writes text whose middle line passes through `at`, rotated by `degrees` (clockwise) about it.
    void text(std::string_view css_class, XY at, Anchor anchor, std::string_view content, double degrees = 0);

    [[nodiscard]] const std::string& str() const { return out_; }

private:
    std::string out_;
};

}  // namespace roofline::core
