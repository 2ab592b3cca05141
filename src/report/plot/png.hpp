// PNG from our SVG, by librsvg and cairo, which are loaded when first asked for: linking them would slow every start.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

inline constexpr double kPngScale = 2;  ///< pixels of the PNG for one of the SVG

/// The bytes of a PNG of the SVG, on opaque white and in the light theme whatever the desktop's is.
/// Errors: no_png (built without the headers, or the libraries are not installed: says which package to install),
/// bad_scale (not in (0, 16]), bad_svg (not SVG, or without a size), picture_too_large (a side beyond 16384 pixels).
[[nodiscard]] Result<std::string> svg_to_png(std::string_view svg, double scale = kPngScale);

}  // namespace roofline::core
