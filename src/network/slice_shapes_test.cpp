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

TEST_CASE("a number of chips is the most even slice that can be wired") {
    const auto shape = [](std::string_view name, std::int64_t chips) {
        const auto slice = slice_of_chips(*find_machine(name), chips);
        return slice ? slice->shape_text() : slice.error().hint;
    };
    CHECK(shape("h100-sxm", 1) == "1");
    CHECK(shape("h100-sxm", 4) == "4");
    CHECK(shape("h100-sxm", 24) == "8x3");
    CHECK(shape("h100-sxm", 4096) == "8x512");
    CHECK(shape("h100-sxm", 12) == "use 8 or 16 chips");
    CHECK(shape("gb200", 144) == "72x2");
    CHECK(shape("gb200", 256) == "use 216 or 288 chips");
    // cubes of 4 x 4 x 4: 256 chips are four of them in a square, 8 x 8 x 4, in rising order
    CHECK(shape("tpu-v5p", 256) == "4x8x8");
    CHECK(shape("tpu-v5p", 8) == "2x2x2");
    // 65 chips are no cubes and no part of one; 64 are one
    CHECK(shape("tpu-v5p", 65).starts_with("use 64 or "));
    // 8,192 chips are no shape within a pod of 16 x 20 x 28, but two cubes
    CHECK(shape("tpu-v5p", 8192) == "16x16x16*2");
    // a pod of TPU v5e has 16 x 16 chips
    CHECK(shape("tpu-v5e", 256) == "16x16");
    CHECK(shape("tpu-v5e", 512) == "16x16*2");
    CHECK(shape("h100-sxm", 2'000'000) == "give fewer chips");
}

TEST_CASE("the next slice is the smallest one of so many chips or more that can be wired") {
    const auto shape = [](std::string_view name, std::int64_t chips) {
        const auto slice = next_slice(*find_machine(name), chips);
        return slice ? slice->shape_text() : "none";
    };
    CHECK(shape("h100-sxm", 57) == "8x8");  // whole nodes of eight
    CHECK(shape("h100-sxm", 7) == "7");
    CHECK(shape("gb200", 73) == "72x2");
    CHECK(shape("tpu-v5p", 65) == "4x4x8");  // whole cubes of 4 x 4 x 4
    CHECK(shape("h100-sxm", 3'000'000) == "none");
}
