// A picture of a mesh made ready for drawing: which chips are shown, and where.
#pragma once

#include <string>
#include <vector>

#include "report/plot/mesh_picture.hpp"
#include "report/plot/svg.hpp"

namespace roofline::core {

/// Panels of arrays, at most; others are told in words.
inline constexpr std::size_t kMostArrays = 6;

/// How much room a grid takes.
struct GridStyle {
    double left = 0;
    double top = 0;
    double width = 0;         ///< at most
    double widest_pitch = 0;  ///< from a chip to the next
    double pitch_y = 0;
    double share = 0.7;  ///< of the pitch that the chip itself takes, across; of wires the rest
    double cell_height = 0;
    double box_title = 0;  ///< height of the line above each box; 0: without
    bool brief = false;    ///< "domain 2" for "NVLink4 domain 2"
};

struct GridCell {
    MeshChip chip;
    XY centre;
    bool first_row = false;
    bool first_column = false;
};

/// Chips of all boxes with the same members shown.
struct Grid {
    struct Box {
        XY top_left;
        double width = 0;
        double height = 0;
        std::string title;            ///< "plane 2"
        std::vector<GridCell> cells;  ///< row by row
    };
    std::vector<std::int64_t> rows;     ///< those shown
    std::vector<std::int64_t> columns;  ///< those shown
    std::vector<Box> boxes;
    double pitch_x = 0;
    double cell_width = 0;
    double cell_height = 0;
    double bottom = 0;
    bool whole = true;  ///< every chip of the slice is shown

    [[nodiscard]] const GridCell& cell(const Box& box, std::size_t row, std::size_t column) const {
        return box.cells[row * columns.size() + column];
    }
};

[[nodiscard]] Grid make_grid(const MeshPicture& picture, const GridStyle& style);

/// Where an excerpt leaves out what lies before its member `i`.
[[nodiscard]] inline bool gap_before(const std::vector<std::int64_t>& shown, std::size_t i) {
    return i > 0 && shown[i] != shown[i - 1] + 1;
}

/// "X0 Y1" of blocks, or "0,1": the coordinates along the axes; "whole" of an array that is not cut.
[[nodiscard]] std::string block_text(const MeshPicture& picture, const MeshArray& array, std::int64_t row,
                                     std::int64_t column, bool named);

/// The picture as words, for those who do not see it.
[[nodiscard]] std::string describe(const MeshPicture& picture, const Grid& grid);

}  // namespace roofline::core
