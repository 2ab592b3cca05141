// Layout of the picture of a mesh: which chips are shown, and where.
#pragma once

#include <string>
#include <vector>

#include "report/plot/mesh_picture.hpp"
#include "report/plot/svg.hpp"

namespace roofline::core {

/// Maximum number of array panels; all other arrays are only described in text.
inline constexpr std::size_t kMaxArrays = 6;

/// The size of a grid and of its cells.
struct GridStyle {
    double left = 0;
    double top = 0;
    double width = 0;         ///< maximum
    double widest_pitch = 0;  ///< maximum distance between neighbouring chips
    double pitch_y = 0;
    double share = 0.7;  ///< part of the horizontal pitch that the chip occupies; links take the rest
    double cell_height = 0;
    double box_title = 0;  ///< height of the line above each box; 0: there is none
    bool brief = false;    ///< titles are "domain 2" instead of "NVLink4 domain 2"
};

struct GridCell {
    MeshChip chip;
    XY centre;
    bool first_row = false;
    bool first_column = false;
};

/// The chips of all boxes; every box shows the same members.
struct Grid {
    struct Box {
        XY top_left;
        double width = 0;
        double height = 0;
        std::string title;            ///< "plane 2"
        std::vector<GridCell> cells;  ///< row by row
    };
    std::vector<std::int64_t> rows;     ///< indices of those that are shown
    std::vector<std::int64_t> columns;  ///< indices of those that are shown
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

/// Whether an excerpt omits members directly before its item `i`.
[[nodiscard]] inline bool gap_before(const std::vector<std::int64_t>& shown, std::size_t i) {
    return i > 0 && shown[i] != shown[i - 1] + 1;
}

/// Returns the coordinates of a block along its axes, "X0 Y1" or "0,1"; "whole" if the array is not split.
[[nodiscard]] std::string block_text(const MeshPicture& picture, const MeshArray& array, std::int64_t row,
                                     std::int64_t column, bool named);

/// Returns a description of the picture for screen readers.
[[nodiscard]] std::string describe(const MeshPicture& picture, const Grid& grid);

}  // namespace roofline::core
