// Chips as a grid and arrays cut into blocks, as SVG: which chip holds what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace roofline::core {

/// Chips along one direction of the picture: rows go down, columns to the right; others are boxes beside one another.
struct MeshDirection {
    std::int64_t length = 1;
    bool linked = false;    ///< neighbours are joined by wires; else all members by a switch
    bool wrapped = false;   ///< and the last to the first
    std::string label;      ///< the mesh axes along it: "Y"
    std::string unit;       ///< what a box is: "plane", "NVLink4 domain"
    std::string network{};  ///< what joins boxes that are not linked: "NIC"
};

/// A part of a mesh axis: so many chips of a direction, each `stride` from the next.
struct MeshPart {
    std::size_t direction = 0;
    std::int64_t size = 1;
    std::int64_t stride = 1;
};

struct PictureAxis {
    std::string name;
    std::int64_t size = 1;
    std::vector<MeshPart> parts{};  ///< innermost first; their sizes multiply to `size`
    std::string place{};            ///< in words: "ici.0, a ring"
};

/// A matrix of blocks: each side is cut over mesh axes (indices in MeshPicture::axes), outermost first; none is whole.
struct MeshArray {
    std::string label;  ///< "In : bf16[B_X, D]"
    std::vector<std::size_t> row_axes;
    std::vector<std::size_t> column_axes;
    std::vector<std::string> notes;  ///< lines below the label: what a block is, who has copies
};

struct MeshPicture {
    std::string title;
    std::string subtitle;
    std::vector<MeshDirection> directions;  ///< rows, columns, then those of the boxes, innermost first
    std::string wires;  ///< what joins the chips of a line that is not linked: "all on one NVLink4 switch"
    std::vector<PictureAxis> axes;
    std::vector<MeshArray> arrays;
    std::vector<std::string> notes;  ///< arrays that are whole on every chip
};

/// A place among the directions.
using MeshChip = std::vector<std::int64_t>;

/// The coordinate of a chip along a mesh axis.
[[nodiscard]] std::int64_t coordinate(const PictureAxis& axis, const MeshChip& chip);

/// Which block of a side a chip holds: its coordinates along the axes that cut the side, the first counting most.
[[nodiscard]] std::int64_t block_of(const MeshPicture& picture, const std::vector<std::size_t>& axes,
                                    const MeshChip& chip);

/// How many blocks the axes cut a side into.
[[nodiscard]] std::int64_t blocks_of(const MeshPicture& picture, const std::vector<std::size_t>& axes);

/// Which of `length` things are drawn when at most `most` can be: all, or the first ones and the last.
[[nodiscard]] std::vector<std::int64_t> excerpt(std::int64_t length, std::int64_t most);

/// A whole SVG document, in the manner of plot.hpp. Large slices and arrays are drawn as excerpts, and the picture says
/// so.
[[nodiscard]] std::string to_svg(const MeshPicture& picture);

}  // namespace roofline::core
