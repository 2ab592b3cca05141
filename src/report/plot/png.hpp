// Conversion of SVG to PNG by librsvg and cairo. They are loaded at first use because linking them would slow every
// start.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

inline constexpr double kPngScale = 2;  ///< pixels of the PNG per pixel of the SVG

/// Returns the bytes of a PNG of the SVG, in the light theme on opaque white whatever the theme of the desktop.
/// Errors: `no_png` (built without the headers, or the libraries are not installed; the hint names the package),
/// `bad_scale` (not in (0, 16]), `bad_svg` (not SVG, or without a size), `picture_too_large` (a side exceeds 16384
/// pixels).
[[nodiscard]] Result<std::string> svg_to_png(std::string_view svg, double scale = kPngScale);

}  // namespace roofline::core
