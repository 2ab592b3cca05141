#include "report/plot/mesh_scene.hpp"

#include <doctest/doctest.h>

#include <set>

#include "base/approx_test.hpp"
#include "report/plot/svg_elements_test.hpp"

namespace roofline::core {
namespace {

/// A 4 x 4 grid with X down and Y across.
MeshPicture square() {
    MeshPicture picture;
    picture.title = "square";
    picture.directions = {{4, true, false, "X", "plane"}, {4, true, false, "Y", "plane"}};
    picture.axes = {{"X", 4, {{0, 4, 1}}, "down"}, {"Y", 4, {{1, 4, 1}}, "across"}};
    return picture;
}

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a coordinate is put together from the parts of its axis, the innermost counting least") {
    // Y takes 2 of the columns, X both rows and every second one of 8 columns: chip (r, c) has coordinate c % 2 in Y
    // and r + 2 * (c / 2) in X.
    const PictureAxis y{"Y", 2, {{1, 2, 1}}};
    const PictureAxis x{"X", 8, {{0, 2, 1}, {1, 4, 2}}};
    CHECK(coordinate(y, {1, 5}) == 1);
    CHECK(coordinate(x, {1, 5}) == 1 + 2 * 2);
    CHECK(coordinate(x, {0, 7}) == 6);
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (std::int64_t r = 0; r < 2; ++r) {
        for (std::int64_t c = 0; c < 8; ++c) seen.emplace(coordinate(x, {r, c}), coordinate(y, {r, c}));
    }
    CHECK(seen.size() == 16);  // all chips have different coordinates
    CHECK(coordinate({"one", 1, {}}, {1, 5}) == 0);
}

TEST_CASE("a block's number has the first axis as its highest digit") {
    const MeshPicture picture = square();
    CHECK(block_index(picture, {0, 1}, {2, 3}) == 2 * 4 + 3);
    CHECK(block_index(picture, {1, 0}, {2, 3}) == 3 * 4 + 2);
    CHECK(block_index(picture, {}, {2, 3}) == 0);
    CHECK(block_count(picture, {0, 1}) == 16);
    CHECK(block_count(picture, {}) == 1);
    const MeshArray array{"A", {0, 1}, {}, {}};
    CHECK(block_text(picture, array, 11, 0, true) == "X2 Y3");
    CHECK(block_text(picture, array, 11, 0, false) == "2,3");
    CHECK(block_text(picture, {"B", {1}, {0}, {}}, 3, 1, true) == "Y3 X1");
}

TEST_CASE("an excerpt has the first ones and the last") {
    CHECK(visible_indices(4, 4) == Numbers{0, 1, 2, 3});
    CHECK(visible_indices(5, 4) == Numbers{0, 1, 2, 4});
    CHECK(visible_indices(1'000'000'000, 2) == Numbers{0, 999'999'999});
    CHECK(visible_indices(7, 1) == Numbers{0});
    CHECK(gap_before({0, 1, 2, 4}, 3));
    CHECK_FALSE(gap_before({0, 1, 2, 4}, 2));
}

TEST_CASE("chips are drawn in rows and columns, and boxes next to one another within the width") {
    MeshPicture picture = square();
    const GridStyle style{10, 20, 600, 50, 40, 0.5, 20, 15, false};
    const Grid grid = make_grid(picture, style);
    REQUIRE(grid.boxes.size() == 1);
    CHECK(grid.whole);
    CHECK(grid.cell(grid.boxes[0], 2, 3).chip == MeshChip{2, 3});
    CHECK(grid.cell(grid.boxes[0], 2, 3).centre.x == approx(10 + 3.5 * 50));
    CHECK(grid.cell(grid.boxes[0], 2, 3).centre.y == approx(20 + 2.5 * 40));
    picture.directions.push_back({28, true, true, "Z", "plane"});
    const Grid deep = make_grid(picture, style);
    REQUIRE(deep.boxes.size() == 3);
    CHECK_FALSE(deep.whole);
    CHECK(deep.boxes[2].title == "plane 27");
    CHECK(deep.boxes[2].cells[0].chip == MeshChip{0, 0, 27});
    CHECK(deep.boxes[2].top_left.x + deep.boxes[2].width <= 610.001);
    CHECK(deep.boxes[1].top_left.x > deep.boxes[0].top_left.x + deep.boxes[0].width);
}

TEST_CASE("the picture of the mesh names each block on the matrix and on the chips that hold it") {
    MeshPicture picture = square();
    picture.arrays = {{"In", {0}, {}, {"down: B over X"}}, {"H", {0}, {1}, {}}};
    const std::string svg = to_svg(picture);
    std::map<std::string, int> count;
    for (const std::string& text : texts(elements_of(svg, "detail"))) ++count[text];
    CHECK(count["2,3"] == 1);        // the chip
    CHECK(count["X2"] == 1 + 4);     // a block of In, and four chips with copies of it
    CHECK(count["X2 Y3"] == 1 + 1);  // a block of H, and its chip
    CHECK(elements_of(svg, "wire").size() == 2 * 4 * 3);
    CHECK(elements_of(svg, "wrap").empty());
    picture.directions[1].wrapped = true;
    CHECK(elements_of(to_svg(picture), "wrap").size() == 4);
}

TEST_CASE("hostile names, a single chip and a billion chips give sound pictures") {
    MeshPicture picture = square();
    picture.title = "<&\"'\x01>";
    picture.axes[0].name = std::string(500, 'w');
    picture.arrays = {{"<script>", {0}, {1}, {std::string(5000, '&')}}};
    CHECK_FALSE(SvgReader(to_svg(picture)).read().empty());

    MeshPicture one;
    one.directions.resize(2);
    CHECK_FALSE(SvgReader(to_svg(one)).read().empty());

    MeshPicture large = square();
    for (MeshDirection& direction : large.directions) direction.length = 1000;
    large.directions.push_back({1000, false, false, "Z", "slice"});
    large.axes = {{"X", 1000, {{0, 1000, 1}}}, {"Y", 1000, {{1, 1000, 1}}}, {"Z", 1000, {{2, 1000, 1}}}};
    large.arrays.assign(1000, {"A", {0, 2}, {1}, {}});
    const std::string svg = to_svg(large);
    CHECK_FALSE(SvgReader(svg).read().empty());
    CHECK(svg.size() < 200'000);
    CHECK(contains(texts(elements_of(svg, "detail")), "and 982 arrays more"));  // 6 are drawn, 12 are described
}

}  // namespace roofline::core
