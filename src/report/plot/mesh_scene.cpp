#include "report/plot/mesh_scene.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofline::core {

namespace {

constexpr double kGap = 0.45;  // width of a gap that stands for omitted members, in units of the pitch
constexpr double kBoxGap = 22;

std::size_t gaps_in(const std::vector<std::int64_t>& shown) {
    std::size_t gaps = 0;
    for (std::size_t i = 1; i < shown.size(); ++i) {
        if (gap_before(shown, i)) ++gaps;
    }
    return gaps;
}

/// Returns the centre of each member, in units of the pitch from the edge.
std::vector<double> middles(const std::vector<std::int64_t>& shown) {
    std::vector<double> at;
    double next = 0.5;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (gap_before(shown, i)) next += kGap;
        at.push_back(next);
        next += 1;
    }
    return at;
}

double length_of(const std::vector<std::int64_t>& shown) {
    return static_cast<double>(shown.size()) + kGap * static_cast<double>(gaps_in(shown));
}

/// Returns the members that each direction shows: up to eight by eight chips of one box, and fewer per box if there are
/// several, so that labels have room.
std::vector<std::vector<std::int64_t>> shown_members(const std::vector<MeshDirection>& directions) {
    std::size_t deep = 0;  // number of directions that form boxes
    for (std::size_t d = 2; d < directions.size(); ++d) {
        if (directions[d].length > 1) ++deep;
    }
    const bool line = directions[0].length == 1;
    std::vector<std::vector<std::int64_t>> shown;
    std::size_t seen = 0;
    for (std::size_t d = 0; d < directions.size(); ++d) {
        std::int64_t most = deep == 0 || (line && d == 1) ? 8 : directions[d].length > 4 && !line ? 3 : 4;
        if (d >= 2 && deep > 1) most = seen < 2 ? 2 : 1;
        if (d >= 2 && directions[d].length > 1) ++seen;
        shown.push_back(visible_indices(directions[d].length, most));
    }
    return shown;
}

std::string box_title(const std::vector<MeshDirection>& directions, const MeshChip& chip, bool brief) {
    std::vector<std::string> parts;
    for (std::size_t d = directions.size(); d-- > 2;) {
        if (directions[d].length < 2) continue;
        const std::string& unit = directions[d].unit;
        parts.push_back(fmt::format("{} {}", brief ? unit.substr(unit.rfind(' ') + 1) : unit, chip[d]));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

void add_digits(const MeshPicture& picture, const std::vector<std::size_t>& axes, std::int64_t block, bool named,
                std::vector<std::string>& out) {
    std::vector<std::string> digits;
    for (std::size_t i = axes.size(); i-- > 0;) {
        const PictureAxis& axis = picture.axes[axes[i]];
        digits.push_back(fmt::format("{}{}", named ? axis.name : "", block % axis.size));
        block /= axis.size;
    }
    out.insert(out.end(), digits.rbegin(), digits.rend());
}

}  // namespace

std::int64_t coordinate(const PictureAxis& axis, const MeshChip& chip) {
    std::int64_t index = 0;
    std::int64_t weight = 1;
    for (const MeshPart& part : axis.parts) {
        index += chip[part.direction] / part.stride % part.size * weight;
        weight *= part.size;
    }
    return index;
}

std::int64_t block_index(const MeshPicture& picture, const std::vector<std::size_t>& axes, const MeshChip& chip) {
    std::int64_t block = 0;
    for (const std::size_t axis : axes) {
        block = block * picture.axes[axis].size + coordinate(picture.axes[axis], chip);
    }
    return block;
}

std::int64_t block_count(const MeshPicture& picture, const std::vector<std::size_t>& axes) {
    std::int64_t blocks = 1;
    for (const std::size_t axis : axes) blocks *= picture.axes[axis].size;
    return blocks;
}

std::vector<std::int64_t> visible_indices(std::int64_t length, std::int64_t most) {
    std::vector<std::int64_t> shown;
    const std::int64_t first = length <= most ? length : std::max<std::int64_t>(1, most - 1);
    for (std::int64_t i = 0; i < first; ++i) shown.push_back(i);
    if (length > most && most > 1) shown.push_back(length - 1);
    return shown;
}

std::string block_text(const MeshPicture& picture, const MeshArray& array, std::int64_t row, std::int64_t column,
                       bool named) {
    std::vector<std::string> digits;
    add_digits(picture, array.row_axes, row, named, digits);
    add_digits(picture, array.column_axes, column, named, digits);
    if (digits.empty()) return "whole";
    return fmt::format("{}", fmt::join(digits, named ? " " : ","));
}

Grid make_grid(const MeshPicture& picture, const GridStyle& style) {
    const auto shown = shown_members(picture.directions);
    Grid grid;
    grid.rows = shown[0];
    grid.columns = shown[1];
    std::vector<MeshChip> boxes{MeshChip(picture.directions.size(), 0)};
    for (std::size_t d = 0; d < shown.size(); ++d) {
        grid.whole = grid.whole && static_cast<std::int64_t>(shown[d].size()) == picture.directions[d].length;
        if (d < 2) continue;
        std::vector<MeshChip> next;
        for (const std::int64_t member : shown[d]) {
            for (MeshChip chip : boxes) {
                chip[d] = member;
                next.push_back(std::move(chip));
            }
        }
        boxes = std::move(next);
    }
    const std::size_t across = grid.rows.size() == 1 ? 1 : boxes.size();  // boxes that consist of one line are stacked
    const double columns = length_of(grid.columns);
    const double room = style.width - kBoxGap * static_cast<double>(across - 1);
    grid.pitch_x = std::min(style.widest_pitch, room / static_cast<double>(across) / columns);
    grid.cell_width = grid.pitch_x * style.share;
    grid.cell_height = style.cell_height;
    const std::vector<double> x = middles(grid.columns);
    const std::vector<double> y = middles(grid.rows);
    double left = style.left;
    double top = style.top;
    const bool titled = boxes.size() > 1 && style.box_title > 0;
    for (const MeshChip& chip : boxes) {
        Grid::Box box{{left, top + (titled ? style.box_title : 0)}, columns * grid.pitch_x, 0, "", {}};
        if (titled) box.title = box_title(picture.directions, chip, style.brief);
        box.height = length_of(grid.rows) * style.pitch_y;
        for (std::size_t r = 0; r < grid.rows.size(); ++r) {
            for (std::size_t c = 0; c < grid.columns.size(); ++c) {
                MeshChip here = chip;
                here[0] = grid.rows[r];
                here[1] = grid.columns[c];
                const XY centre{box.top_left.x + x[c] * grid.pitch_x, box.top_left.y + y[r] * style.pitch_y};
                box.cells.push_back({std::move(here), centre, r == 0, c == 0});
            }
        }
        grid.bottom = box.top_left.y + box.height;
        if (across == 1) {
            top = grid.bottom;
        } else {
            left += box.width + kBoxGap;
        }
        grid.boxes.push_back(std::move(box));
    }
    return grid;
}

std::string describe(const MeshPicture& picture, const Grid& grid) {
    std::string out =
        "The chips of the slice by their coordinates on the mesh, and which block of each array they hold.\n";
    out += "Mesh axes (name | size | where):\n";
    for (const PictureAxis& axis : picture.axes) out += fmt::format("{} | {} | {}\n", axis.name, axis.size, axis.place);
    if (!grid.whole) out += "Not all chips are drawn.\n";
    for (const MeshArray& array : picture.arrays) {
        out += array.label + "\n";
        for (const std::string& note : array.notes) out += "  " + note + "\n";
    }
    for (const std::string& note : picture.notes) out += note + "\n";
    return out;
}

}  // namespace roofline::core
