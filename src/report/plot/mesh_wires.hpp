// What joins the chips of a grid: links between neighbours, the way around a ring, a switch.
#pragma once

#include "report/plot/mesh_scene.hpp"
#include "report/plot/svg.hpp"

namespace roofline::core {

/// Wires of one box, to be drawn below its chips: `wire` for a link, `wrap` dashed for a way around or over what is
/// left out.
void draw_wires(SvgWriter& svg, const MeshPicture& picture, const Grid& grid, const Grid::Box& box);

/// A network between the boxes: a line beside each column of them that its boxes are joined to, and one that joins the
/// columns. Gives where its label goes: the middle of the last of these lines.
XY draw_network(SvgWriter& svg, const Grid& grid);

}  // namespace roofline::core
