// The connections of a grid: links between neighbours, wrap-around links, and switches.
#pragma once

#include "report/plot/mesh_scene.hpp"
#include "report/plot/svg.hpp"

namespace roofline::core {

/// Draws the links of one box, to be called before its chips are drawn. Class `wire` is a link; class `wrap` (dashed)
/// is a link that wraps around or skips omitted chips.
void draw_links(SvgWriter& svg, const MeshPicture& picture, const Grid& grid, const Grid::Box& box);

/// Draws a network between the boxes: a line beside each column of boxes that these are connected to, and one that
/// connects the columns. Returns the position of its label: the centre of the last of these lines.
XY draw_network(SvgWriter& svg, const Grid& grid);

}  // namespace roofline::core
