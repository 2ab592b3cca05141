// An SVG picture of a mesh: chips as a grid, arrays as matrices of blocks, and which chip holds which block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace roofline::core {

/// A direction of the picture. The first runs down (rows), the second across (columns); all others are boxes side by
/// side.
struct MeshDirection {
    std::int64_t length = 1;
    bool linked = false;    ///< links connect neighbours; otherwise a switch connects all members
    bool wrapped = false;   ///< a link connects the last member to the first
    std::string label;      ///< the mesh axes along this direction: "Y"
    std::string unit;       ///< what a box represents: "plane", "NVLink4 domain"
    std::string network{};  ///< what connects boxes that are not linked: "NIC"
};

/// A part of a mesh axis: the chips of one direction at distances of `stride`.
struct MeshPart {
    std::size_t direction = 0;
    std::int64_t size = 1;
    std::int64_t stride = 1;
};

struct PictureAxis {
    std::string name;
    std::int64_t size = 1;
    std::vector<MeshPart> parts{};  ///< innermost first; the product of their sizes is `size`
    std::string place{};            ///< description: "ici.0, a ring"
};

/// A matrix of blocks. Each side is split over mesh axes (indices into MeshPicture::axes), outermost first; a side
/// without axes is not split.
struct MeshArray {
    std::string label;  ///< "In : bf16[B_X, D]"
    std::vector<std::size_t> row_axes;
    std::vector<std::size_t> column_axes;
    std::vector<std::string> notes;  ///< lines below the label: the size of a block, which chips hold copies
};

struct MeshPicture {
    std::string title;
    std::string subtitle;
    std::vector<MeshDirection> directions;  ///< rows, columns, then boxes, innermost first
    std::string wires;  ///< what connects the chips of a line without links: "all on one NVLink4 switch"
    std::vector<PictureAxis> axes;
    std::vector<MeshArray> arrays;
    std::vector<std::string> notes;  ///< about arrays that every chip holds in full
};

/// The coordinates of a chip in all directions.
using MeshChip = std::vector<std::int64_t>;

/// Returns the coordinate of a chip along a mesh axis.
[[nodiscard]] std::int64_t coordinate(const PictureAxis& axis, const MeshChip& chip);

/// Returns the index of the block of a side that a chip holds. It is composed of the coordinates along the axes that
/// split the side; the first one is most significant.
[[nodiscard]] std::int64_t block_index(const MeshPicture& picture, const std::vector<std::size_t>& axes,
                                       const MeshChip& chip);

/// Returns the number of blocks that the axes split a side into.
[[nodiscard]] std::int64_t block_count(const MeshPicture& picture, const std::vector<std::size_t>& axes);

/// Returns the indices of the items that are drawn if at most `most` of `length` can be: all of them, or the first ones
/// and the last one.
[[nodiscard]] std::vector<std::int64_t> visible_indices(std::int64_t length, std::int64_t most);

/// Returns a complete SVG document in the style of plot.hpp. Large slices and arrays are drawn as excerpts, and the
/// picture says so.
[[nodiscard]] std::string to_svg(const MeshPicture& picture);

}  // namespace roofline::core
