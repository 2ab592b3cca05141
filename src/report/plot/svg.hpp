// A small SVG writer: escaping, numbers, shapes by CSS class. It knows nothing of plots.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::core {

/// Text made safe for XML content and attributes: markup is escaped; control characters, bytes that are not UTF-8 and
/// code points that XML forbids become U+FFFD. Tabs and line ends become spaces, unless `keep_lines`.
[[nodiscard]] std::string escape_xml(std::string_view text, bool keep_lines = false);

/// The first `limit` characters (code points, not bytes), the last one an ellipsis when something was cut off.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

/// The text, cut with an ellipsis where it is wider than `width` pixels at that font size.
[[nodiscard]] std::string fitted(std::string_view text, double font_size, double width);

/// Width in pixels at a font size in pixels. Measured on DejaVu Sans, the widest of the font family list, so that a
/// label that fits by this estimate fits in the others too.
[[nodiscard]] double text_width(std::string_view text, double font_size);

/// A coordinate: two decimals at most, no exponent, no "-0"; what is not finite is 0.
[[nodiscard]] std::string svg_number(double value);

struct XY {
    double x = 0;
    double y = 0;
};

enum class Anchor { start, middle, end };

/// The shape of a data mark; shapes tell series apart where colour does not.
enum class Mark { circle, square, diamond, triangle };

/// Elements in the order of drawing. Classes are written as given, all other text is escaped.
class SvgWriter {
public:
    void open_group(std::string_view css_class, std::string_view tooltip = {});
    void close_group();
    void rect(std::string_view css_class, double x, double y, double width, double height);
    void line(std::string_view css_class, XY from, XY to);
    void polyline(std::string_view css_class, const std::vector<XY>& points);
    void mark(std::string_view css_class, Mark shape, XY centre, double radius);
    /// Text whose middle line runs through `at`, turned by `degrees` (clockwise) about it.
    void text(std::string_view css_class, XY at, Anchor anchor, std::string_view content, double degrees = 0);

    [[nodiscard]] const std::string& str() const { return out_; }

private:
    std::string out_;
};

}  // namespace roofline::core
