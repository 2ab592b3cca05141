#include "report/plot/mesh_links.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace roofline::core {

namespace {

class LinkDrawing {
public:
    LinkDrawing(SvgWriter& svg, const Grid& grid, const Grid::Box& box) : svg_(svg), grid_(grid), box_(box) {}

    void across() {
        for (std::size_t r = 0; r < grid_.rows.size(); ++r) {
            for (std::size_t c = 1; c < grid_.columns.size(); ++c) {
                svg_.line(gap_before(grid_.columns, c) ? "wrap" : "wire", at(r, c - 1), at(r, c));
            }
        }
    }

    void down() {
        for (std::size_t r = 1; r < grid_.rows.size(); ++r) {
            for (std::size_t c = 0; c < grid_.columns.size(); ++c) {
                svg_.line(gap_before(grid_.rows, r) ? "wrap" : "wire", at(r - 1, c), at(r, c));
            }
        }
    }

    // Draws the wrap-around link from the last chip of a row to its first, between this row and the next.
    void around_rows() {
        const double out = half_width() + std::min(7.0, grid_.pitch_x / 2 - half_width());
        for (std::size_t r = 0; r < grid_.rows.size(); ++r) {
            const XY from = at(r, grid_.columns.size() - 1);
            const XY to = at(r, 0);
            const double below = from.y + half_height() + 5;
            svg_.polyline("wrap", {{from.x + half_width(), from.y},
                                   {from.x + out, from.y},
                                   {from.x + out, below},
                                   {to.x - out, below},
                                   {to.x - out, to.y},
                                   {to.x - half_width(), to.y}});
        }
    }

    void around_columns() {
        const double out = half_width() + (grid_.pitch_x / 2 - half_width()) * 0.7;
        for (std::size_t c = 0; c < grid_.columns.size(); ++c) {
            const XY from = at(grid_.rows.size() - 1, c);
            const XY to = at(0, c);
            const double below = from.y + half_height() + 8;
            const double above = to.y - half_height() - 6;
            svg_.polyline("wrap", {{from.x, from.y + half_height()},
                                   {from.x, below},
                                   {from.x + out, below},
                                   {from.x + out, above},
                                   {to.x, above},
                                   {to.x, to.y - half_height()}});
        }
    }

    // Draws a switch as a line to which every chip of a row is connected.
    void bus() {
        for (std::size_t r = 0; r < grid_.rows.size(); ++r) {
            const double y = at(r, 0).y + half_height() + 7;
            svg_.line("wire", {at(r, 0).x, y}, {at(r, grid_.columns.size() - 1).x, y});
            for (std::size_t c = 0; c < grid_.columns.size(); ++c) svg_.line("wire", at(r, c), {at(r, c).x, y});
        }
    }

private:
    [[nodiscard]] XY at(std::size_t row, std::size_t column) const { return grid_.cell(box_, row, column).centre; }
    [[nodiscard]] double half_width() const { return grid_.cell_width / 2; }
    [[nodiscard]] double half_height() const { return grid_.cell_height / 2; }

    SvgWriter& svg_;
    const Grid& grid_;
    const Grid::Box& box_;
};

}  // namespace

void draw_links(SvgWriter& svg, const MeshPicture& picture, const Grid& grid, const Grid::Box& box) {
    LinkDrawing wiring(svg, grid, box);
    const MeshDirection& rows = picture.directions[0];
    const MeshDirection& columns = picture.directions[1];
    if (columns.linked) wiring.across();
    if (rows.linked) wiring.down();
    if (columns.wrapped) wiring.around_rows();
    if (rows.wrapped) wiring.around_columns();
    if (columns.length > 1 && !columns.linked) wiring.bus();
}

XY draw_network(SvgWriter& svg, const Grid& grid) {
    constexpr double beside = 12;
    const auto right_of = [&](const Grid::Box& box) {
        return grid.cell(box, 0, grid.columns.size() - 1).centre.x + grid.cell_width / 2;
    };
    const auto middle_of = [&](const Grid::Box& box) {
        return (grid.cell(box, 0, 0).centre.y + grid.cell(box, grid.rows.size() - 1, 0).centre.y) / 2;
    };
    // By horizontal position: the first and the last box on the line.
    std::map<double, std::pair<double, double>> lines;
    for (const Grid::Box& box : grid.boxes) {
        const double x = right_of(box) + beside;
        const double y = middle_of(box);
        svg.line("network", {right_of(box), y}, {x, y});
        const auto [line, added] = lines.try_emplace(x, y, y);
        line->second.second = std::max(line->second.second, y);
    }
    const double foot = grid.bottom + 2;
    for (const auto& [x, ends] : lines) {
        svg.line("network", {x, ends.first}, {x, lines.size() > 1 ? foot : ends.second});
    }
    if (lines.size() > 1) svg.line("network", {lines.begin()->first, foot}, {lines.rbegin()->first, foot});
    const auto& [x, ends] = *lines.rbegin();
    return {x, (ends.first + ends.second) / 2};
}

}  // namespace roofline::core
