#include "units/size_range.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace roofline::core;

namespace {

using Listed = std::vector<std::int64_t>;

std::string refusal(std::string_view text) {
    const auto sizes = parse_size_range(text);
    REQUIRE_FALSE(sizes);
    return sizes.error().message;
}

}  // namespace

TEST_CASE("a range is every size, multiples, steps or a list, and ends within its end") {
    CHECK(parse_size_range("3..6") == Listed{3, 4, 5, 6});
    CHECK(parse_size_range("1Mi..16Mi*2") == Listed{1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24});
    CHECK(parse_size_range("256..1000*2") == Listed{256, 512});
    CHECK(parse_size_range(" 64 .. 200 + 64 ") == Listed{64, 128, 192});
    CHECK(parse_size_range("8,1k") == Listed{8, 1000});
    CHECK(parse_size_range("7") == Listed{7});
}

TEST_CASE("what is no range says why") {
    CHECK(refusal("16Mi..1Mi*2") == "runs backwards");
    CHECK(parse_size_range("8..4").error().hint == "the smaller number comes first: 4..8");
    CHECK(refusal("1..8*1") == "would never end");
    CHECK(refusal("1..2M") == "has more than 1000000 sizes");
    CHECK(refusal("").find("has an unusable size") == 0);
    CHECK(refusal("1..").find("has no usable end") == 0);
    CHECK(refusal("0..8*2").find("has no usable start") == 0);
    CHECK(refusal("1..8*x").find("has no usable increment") == 0);
}
