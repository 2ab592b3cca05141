#include "report/plot/label.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace roofline::core {

TEST_CASE("level boxes overlap when they share an area") {
    const LabelBox box{{0, 0}, 10, 5, 0};
    CHECK(overlap(box, {{15, 0}, 6, 5, 0}));
    CHECK_FALSE(overlap(box, {{16, 0}, 6, 5, 0}));  // they only touch
    CHECK_FALSE(overlap(box, {{0, 11}, 6, 5, 0}));
    CHECK(overlap(box, {{0, 0}, 1, 1, 30}));  // inside
}

TEST_CASE("turned boxes are not their bounding boxes") {
    // Two long boxes at 45 degrees, side by side: their bounding boxes overlap, but the boxes do not.
    const LabelBox one{{0, 0}, 50, 5, 45};
    CHECK_FALSE(overlap(one, {{20, 0}, 50, 5, 45}));
    CHECK(overlap(one, {{10, 0}, 50, 5, 45}));
    CHECK(overlap(one, {{20, 0}, 50, 5, -45}));
}

TEST_CASE("the length of a line inside a box") {
    const LabelBox box{{0, 0}, 10, 5, 0};
    CHECK(length_inside(box, {-100, 0}, {100, 0}) == approx(20));
    CHECK(length_inside(box, {0, -100}, {0, 100}) == approx(10));
    CHECK(length_inside(box, {0, 0}, {100, 0}) == approx(10));
    CHECK(length_inside(box, {-100, 6}, {100, 6}) == 0);
    CHECK(length_inside({{0, 0}, 10, 5, 90}, {-100, 0}, {100, 0}) == approx(10));
    CHECK(length_inside({{0, 0}, 10, 10, 45}, {-100, 0}, {100, 0}) == approx(20 * std::sqrt(2)));
}

TEST_CASE("the cheapest place that is free and inside the frame") {
    LabelPlacer placer({0, 0}, {100, 100});
    const LabelBox middle{{50, 50}, 20, 5, 0};
    const LabelBox outside{{90, 50}, 20, 5, 0};
    const LabelBox below{{50, 70}, 20, 5, 0};
    CHECK(placer.place({{outside, 0}, {middle, 1}, {below, 2}}) == 1);
    CHECK(placer.place({{outside, 0}, {middle, 1}, {below, 2}}) == 2);  // the middle is now occupied
    CHECK_FALSE(placer.place({{outside, 0}, {middle, 1}, {below, 2}}));
}

TEST_CASE("a line under a label costs, but does not forbid") {
    LabelPlacer placer({0, 0}, {100, 100});
    placer.avoid({0, 50}, {100, 50});
    const LabelBox on_line{{50, 50}, 20, 5, 0};
    // 40 covered pixels of a line cost more than a bias of 39.
    CHECK(placer.place({{on_line, 0}, {{{50, 70}, 20, 5, 0}, 39}}) == 1);
    CHECK_FALSE(placer.place({{on_line, 0}}, 39));
    CHECK(placer.place({{on_line, 0}}, 41) == 0);
}

TEST_CASE("a leader crosses no label") {
    LabelPlacer placer({0, 0}, {100, 100});
    placer.block({{50, 50}, 5, 5, 0});   // the mark at its start does not obstruct the leader
    placer.block({{50, 70}, 10, 5, 0});  // but this label does
    const LabelBox far{{50, 90}, 10, 5, 0};
    CHECK_FALSE(placer.place({{far, 0, {{{50, 50}, {50, 85}}}}}));
    CHECK(placer.place({{far, 0, {{{50, 50}, {20, 80}}}}}) == 0);
}

}  // namespace roofline::core
