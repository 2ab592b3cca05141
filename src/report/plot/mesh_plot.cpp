#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "report/plot/mesh_links.hpp"
#include "report/plot/mesh_picture.hpp"
#include "report/plot/mesh_scene.hpp"
#include "report/plot/plot_frame.hpp"

namespace roofline::core {
namespace {

constexpr double kMeshLeft = 24;
constexpr double kGridLeft = 62;  // left edge of the mesh, which leaves room for the label of its rows
constexpr double kMatrixWidth = 200;
constexpr double kChipsLeft = 262;  // left edge of an array's chips, to the right of its blocks
constexpr double kMeshRowHeight = 16;
constexpr double kBlockHeight = 23;
constexpr double kTallBlock = 33;  // height of a block with three lines of text
constexpr double kGapWidth = 12;   // gap that stands for omitted blocks
constexpr double kMeshSmall = 11;
constexpr double kTiny = 9.5;
constexpr std::array<int, 6> kBlockHues{0, 3, 1, 5, 2, 4};

constexpr std::string_view kMeshStyle = R"(
.rl-plot .detail{font-size:11px}
.rl-plot .tiny{font-size:9.5px}
.rl-plot .strong{font-weight:bold}
.rl-plot .chip{fill:#f3f5f7;stroke:#57606a;stroke-width:1}
.rl-plot .network{stroke:#d55e00;stroke-width:1.6}
.rl-plot .wire{fill:none;stroke:#57606a;stroke-width:1.4}
.rl-plot .wrap{fill:none;stroke:#57606a;stroke-width:1;stroke-dasharray:3 2}
.rl-plot .box{fill:none;stroke:#8b949e;stroke-width:1}
.rl-plot .rule{stroke:#d5d9df;stroke-width:1}
.rl-plot .block{stroke:#57606a;stroke-width:1}
.rl-plot .tint0{fill-opacity:.2}
.rl-plot .tint1{fill-opacity:.33}
.rl-plot .tint2{fill-opacity:.46}
.rl-plot .tint3{fill-opacity:.59}
@media (prefers-color-scheme:dark){
.rl-plot .chip{fill:#20262d;stroke:#8b949e}
.rl-plot .wire,.rl-plot .wrap{stroke:#a3acb7}
.rl-plot .rule{stroke:#333a43}
.rl-plot .block{stroke:#8b949e}
.rl-plot .tint2{fill-opacity:.42}
.rl-plot .tint3{fill-opacity:.5}
}
)";

class MeshDrawing {
public:
    explicit MeshDrawing(const MeshPicture& picture)
        : picture_(picture),
          grid_(make_grid(picture,
                          {kGridLeft, kFrameTop + 20, kFrameRight - kGridLeft - 8, 76, 50, 0.7, 32, 24, false})) {
        short_names_ = std::all_of(picture.axes.begin(), picture.axes.end(),
                                   [](const PictureAxis& axis) { return axis.name.size() == 1; });
    }

    std::string draw() {
        directions();
        for (const Grid::Box& box : grid_.boxes) {
            draw_links(svg_, picture_, grid_, box);
            chips(box);
        }
        if (const std::string label = network(); !label.empty()) {
            const XY at = draw_network(svg_, grid_);
            labels_.text("detail halo", {at.x + 11, at.y}, Anchor::middle, label, -90);
        }
        legend();
        const std::size_t drawn = std::min(picture_.arrays.size(), kMaxArrays);
        for (std::size_t i = 0; i < drawn; ++i) array(picture_.arrays[i]);
        rest(drawn);
        return svg_.str() + labels_.str();
    }

    [[nodiscard]] double height() const { return y_ + 4; }
    [[nodiscard]] const Grid& grid() const { return grid_; }

private:
    // Returns what connects the boxes.
    [[nodiscard]] std::string network() const {
        for (std::size_t d = 2; d < picture_.directions.size(); ++d) {
            const MeshDirection& direction = picture_.directions[d];
            if (direction.length > 1 && !direction.network.empty()) return direction.network;
        }
        return "";
    }

    // Draws which mesh axes run in which direction: an arrow above the columns and one beside the rows.
    void directions() {
        const Grid::Box& first = grid_.boxes.front();
        const MeshDirection& rows = picture_.directions[0];
        const MeshDirection& columns = picture_.directions[1];
        if (columns.length > 1 && !columns.label.empty()) {
            const double room = std::max(first.width, 200.0);
            const std::string text = fitted(columns.label + " \u2192", kFontSize, room);
            const double left = first.top_left.x + 6;
            labels_.text("strong", {left, kFrameTop + 10}, Anchor::start, text);
            if (!picture_.wires.empty()) {
                const double after = left + text_width(text, kFontSize) * 1.12 + 10;
                labels_.text("detail weak", {after, kFrameTop + 10}, Anchor::start,
                             fitted(picture_.wires, kMeshSmall, kFrameRight - after));
            }
        }
        if (rows.length > 1 && !rows.label.empty()) {
            labels_.text("strong", {kGridLeft - 26, first.top_left.y + first.height / 2}, Anchor::middle,
                         fitted("\u2190 " + rows.label, kFontSize, std::max(first.height, 60.0)), -90);
        }
        for (const Grid::Box& box : grid_.boxes) {
            if (box.title.empty()) continue;
            labels_.text("detail weak", {box.top_left.x + 4, box.top_left.y - 8}, Anchor::start,
                         fitted(box.title, kMeshSmall, std::max(box.width, 150.0)));
        }
    }

    void chips(const Grid::Box& box) {
        for (const GridCell& cell : box.cells) {
            std::vector<std::string> digits;
            for (const PictureAxis& axis : picture_.axes) digits.push_back(std::to_string(coordinate(axis, cell.chip)));
            rect("chip", cell.centre, grid_);
            cell_text(cell.centre, fmt::format("{}", fmt::join(digits, ",")), grid_.cell_width, grid_.cell_height);
        }
        for (std::size_t c = 1; c < grid_.columns.size(); ++c) {
            if (!gap_before(grid_.columns, c)) continue;
            for (std::size_t r = 0; r < grid_.rows.size(); ++r) {
                const XY left = grid_.cell(box, r, c - 1).centre;
                const XY right = grid_.cell(box, r, c).centre;
                labels_.text("halo", {(left.x + right.x) / 2, left.y}, Anchor::middle, "\u2026");
            }
        }
        for (std::size_t r = 1; r < grid_.rows.size(); ++r) {
            if (!gap_before(grid_.rows, r)) continue;
            for (std::size_t c = 0; c < grid_.columns.size(); ++c) {
                const XY above = grid_.cell(box, r - 1, c).centre;
                const XY below = grid_.cell(box, r, c).centre;
                labels_.text("halo", {above.x, (above.y + below.y) / 2}, Anchor::middle, "\u2026", 90);
            }
        }
    }

    void rect(std::string_view css, XY centre, const Grid& grid) {
        svg_.rect(css, centre.x - grid.cell_width / 2, centre.y - grid.cell_height / 2, grid.cell_width,
                  grid.cell_height);
    }

    // Breaks a text after commas so that each line fits the width.
    static std::vector<std::string> broken(const std::string& text, double width) {
        std::vector<std::string> lines{""};
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find(',', begin), text.size() - 1) + 1;
            const std::string part = text.substr(begin, end - begin);
            if (!lines.back().empty() && text_width(lines.back() + part, kTiny) > width - 1) lines.emplace_back();
            lines.back() += part;
            begin = end;
        }
        return lines;
    }

    // Writes a text on one line, or on several that are broken after commas; writes nothing if it does not fit.
    void cell_text(XY centre, const std::string& text, double width, double height) {
        for (const double size : {kMeshSmall, kTiny}) {
            if (text_width(text, size) > width - 1) continue;
            labels_.text(size == kMeshSmall ? "detail" : "tiny", centre, Anchor::middle, text);
            return;
        }
        const std::vector<std::string> lines = broken(text, width);
        const double tall = kTiny * static_cast<double>(lines.size());
        const bool fits =
            tall < height && std::all_of(
                                 lines.begin(), lines.end(),
                                 [&](const std::string& line) { return text_width(line, kTiny) <= width - 1; });
        if (!fits) return;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const double y = centre.y - tall / 2 + kTiny * (static_cast<double>(i) + 0.5);
            labels_.text("tiny", {centre.x, y}, Anchor::middle, lines[i]);
        }
    }

    void legend() {
        y_ = grid_.bottom + 16;
        std::vector<std::string> names;
        for (const PictureAxis& axis : picture_.axes) names.push_back(axis.name);
        std::string what = fmt::format("Labels of chips are their mesh coordinates: {}.", fmt::join(names, ", "));
        if (!grid_.whole) what += " An excerpt: the first chips and the last chip of each direction.";
        say("detail", what);
        for (const PictureAxis& axis : picture_.axes)
            say("detail weak", fmt::format("{} = {}: {}", axis.name, axis.size, axis.place));
        for (std::size_t d = 2; d < picture_.directions.size(); ++d) {
            const MeshDirection& direction = picture_.directions[d];
            if (direction.length < 2 || direction.label.empty()) continue;
            say("detail weak",
                fmt::format("{} {}s along {}{}", direction.length, direction.unit, direction.label,
                            direction.wrapped  ? ", connected as a ring"
                            : direction.linked ? ", each connected to the next"
                            : direction.network.empty()
                                ? ""
                                : fmt::format(", connected by {}, each chip at its own rate", direction.network)));
        }
    }

    void say(std::string_view css, const std::string& text) {
        labels_.text(css, {kMeshLeft, y_}, Anchor::start, fitted(text, kMeshSmall, kFrameRight - kMeshLeft));
        y_ += kMeshRowHeight;
    }

    // The style of an array's blocks, which is the same in its matrix and on its chips.
    struct Look {
        const MeshArray& array;
        std::int64_t rows;
        std::int64_t columns;
        bool named = false;  ///< labels are "X0 Y1", otherwise "0,1"
        double height = kBlockHeight;
    };

    // Neighbouring blocks differ in hue from row to row and in shade from column to column. If there is only one row or
    // column, all blocks differ in hue first.
    static std::string block_class(const Look& look, std::int64_t row, std::int64_t column) {
        const bool line = look.rows == 1 || look.columns == 1;
        const std::int64_t first = look.rows == 1 ? column : row;
        const std::int64_t tint = line ? first / 6 + 1 : column;
        return fmt::format("block f{} tint{}", kBlockHues[static_cast<std::size_t>(first % 6)], tint % 4);
    }

    void array(const MeshArray& array) {
        y_ += 4;
        svg_.line("rule", {kMeshLeft, y_ - 6}, {kFrameRight, y_ - 6});
        y_ += 8;
        labels_.text("strong", {kMeshLeft, y_}, Anchor::start,
                     fitted(array.label, kFontSize * 1.12, kFrameRight - kMeshLeft));
        y_ += kMeshRowHeight + 1;
        for (const std::string& note : array.notes) {
            if (!note.empty()) say("detail weak", note);
        }
        GridStyle style{kChipsLeft, y_ - 2,           kFrameRight - kChipsLeft,          54,  kBlockHeight,
                        0.94,       kBlockHeight - 2, grid_.boxes.size() > 1 ? 15 : 0.0, true};
        Grid chips = make_grid(picture_, style);
        Look look{array, block_count(picture_, array.row_axes), block_count(picture_, array.column_axes)};
        const std::vector<std::int64_t> right = visible_indices(look.columns, look.columns > 8 ? 6 : 8);
        const double narrowest =
            std::min(chips.cell_width, (kMatrixWidth - kGapWidth) / static_cast<double>(right.size()));
        const auto widest = [&](bool named) {
            return block_text(picture_, array, look.rows - 1, look.columns - 1, named);
        };
        look.named = short_names_ && text_width(widest(true), kTiny) < narrowest - 1;
        if (!look.named && broken(widest(false), narrowest).size() > 2) {
            look.height = kTallBlock;
            style.pitch_y = kTallBlock;
            style.cell_height = kTallBlock - 2;
            chips = make_grid(picture_, style);
        }
        const double below_blocks = blocks(look, right);
        for (const Grid::Box& box : chips.boxes) held(look, chips, box);
        y_ = std::max(below_blocks, chips.bottom + 4) + 10;
    }

    // Draws on each chip the block that it holds.
    void held(const Look& look, const Grid& chips, const Grid::Box& box) {
        if (!box.title.empty()) {
            labels_.text("tiny weak", {box.top_left.x + 2, box.top_left.y - 5}, Anchor::start,
                         fitted(box.title, kTiny, std::max(box.width + 18, 90.0)));
        }
        for (const GridCell& cell : box.cells) {
            const std::int64_t row = block_index(picture_, look.array.row_axes, cell.chip);
            const std::int64_t column = block_index(picture_, look.array.column_axes, cell.chip);
            rect(block_class(look, row, column), cell.centre, chips);
            cell_text(cell.centre, block_text(picture_, look.array, row, column, look.named), chips.cell_width,
                      chips.cell_height);
        }
    }

    // Draws the matrix of blocks; `right` lists the columns that are drawn. Returns its bottom edge.
    double blocks(const Look& look, const std::vector<std::int64_t>& right) {
        const std::vector<std::int64_t> down = visible_indices(look.rows, 8);
        const bool cut = static_cast<std::int64_t>(right.size()) < look.columns;
        const double width = (kMatrixWidth - (cut ? kGapWidth : 0)) / static_cast<double>(right.size());
        const double height = down.size() == 1 ? 40 : look.height;
        double y = y_;
        for (std::size_t r = 0; r < down.size(); ++r) {
            if (gap_before(down, r)) {
                labels_.text("weak", {kMeshLeft + kMatrixWidth / 2, y + kGapWidth / 2}, Anchor::middle, "\u2026", 90);
                y += kGapWidth;
            }
            double x = kMeshLeft;
            for (std::size_t c = 0; c < right.size(); ++c) {
                if (gap_before(right, c)) {
                    labels_.text("weak", {x + kGapWidth / 2, y + height / 2}, Anchor::middle, "\u2026");
                    x += kGapWidth;
                }
                svg_.rect(block_class(look, down[r], right[c]), x, y, width, height);
                cell_text({x + width / 2, y + height / 2},
                          block_text(picture_, look.array, down[r], right[c], look.named), width, height);
                x += width;
            }
            y += height;
        }
        return y;
    }

    void rest(std::size_t drawn) {
        if (picture_.arrays.size() > drawn || !picture_.notes.empty()) {
            y_ += 4;
            svg_.line("rule", {kMeshLeft, y_ - 6}, {kFrameRight, y_ - 6});
            y_ += 8;
        }
        constexpr std::size_t max_described = 12;
        const std::size_t told = std::min(picture_.arrays.size(), drawn + max_described);
        for (std::size_t i = drawn; i < told; ++i) {
            const MeshArray& array = picture_.arrays[i];
            say("detail", fmt::format("{}{}{}", array.label, array.notes.empty() ? "" : ": ",
                                      array.notes.empty() ? "" : array.notes.front()));
        }
        if (picture_.arrays.size() > told)
            say("detail", fmt::format("and {} arrays more", picture_.arrays.size() - told));
        for (const std::string& note : picture_.notes) say("detail", note);
    }

    const MeshPicture& picture_;
    Grid grid_;
    bool short_names_ = false;  ///< all axis names are short enough for labels of blocks
    double y_ = 0;
    SvgWriter svg_;
    SvgWriter labels_;
};

}  // namespace

std::string to_svg(const MeshPicture& picture) {
    MeshDrawing drawing(picture);
    const std::string body = drawing.draw();
    return plot_document(picture.title.empty() ? "Mesh" : picture.title, picture.subtitle,
                         describe(picture, drawing.grid()), body, {drawing.height(), kMeshStyle});
}

}  // namespace roofline::core
