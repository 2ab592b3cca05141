#include "network/slice_shapes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

std::vector<std::string> shapes_of(std::string_view name) {
    auto machine = find_machine(name);
    REQUIRE(machine);
    std::vector<std::string> shapes;
    std::int64_t before = 0;
    for (const Slice& slice : slice_shapes(*machine)) {
        CHECK(slice.chips() > before);  // fewest first, one per size
        before = slice.chips();
        shapes.push_back(slice.shape_text());
    }
    return shapes;
}

}  // namespace

TEST_CASE("slices of a torus are as even as possible, up to the pod") {
    const auto shapes = shapes_of("tpu-v5e");
    CHECK(shapes.front() == "1");
    CHECK(shapes.back() == "16x16");
    CHECK(std::find(shapes.begin(), shapes.end(), "2x4") != shapes.end());
    CHECK(std::find(shapes.begin(), shapes.end(), "4x4") != shapes.end());
    CHECK(std::find(shapes.begin(), shapes.end(), "2x8") == shapes.end());
}

TEST_CASE("on switches they are parts of a node, then nodes") {
    const auto shapes = shapes_of("h100-sxm");
    const std::vector<std::string> first{"1", "2", "4", "8", "8x2", "8x4"};
    REQUIRE(shapes.size() >= first.size());
    CHECK(std::equal(first.begin(), first.end(), shapes.begin()));
}
