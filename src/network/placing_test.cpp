#include "network/placing.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

// Returns each way as "ici.0:4 ici.2:2".
std::set<std::string> ways_of(const Slice& slice, const Placing& placing, std::int64_t size) {
    std::set<std::string> texts;
    for (const std::vector<Lane>& lanes : placing.ways(size)) {
        std::string text;
        for (const Lane& lane : lanes) {
            text += (text.empty() ? "" : " ") + Placing::name_of(slice, lane.tier, lane.axis) + ":" +
                    std::to_string(lane.size);
        }
        texts.insert(text);
    }
    return texts;
}

using Ways = std::set<std::string>;

}  // namespace

TEST_CASE("an axis can lie on any whole axes of a torus that have its size, or on a part of one more") {
    const Slice slice = catalogue_slice("tpu-v5p", "4x8x16");
    Placing placing(slice);
    CHECK(ways_of(slice, placing, 32) == Ways{"ici.0:4 ici.1:8"});
    CHECK(ways_of(slice, placing, 4) == Ways{"ici.0:4"});
    CHECK(ways_of(slice, placing, 2) == Ways{"ici.0:2", "ici.1:2", "ici.2:2"});
    CHECK(ways_of(slice, placing, 16) == Ways{"ici.2:16"});
    // 2 of the first axis are taken, so that 2 are left, which count as a whole axis
    placing.take({{0, 0, 2, 1, false}});
    CHECK(ways_of(slice, placing, 2) == Ways{"ici.0:2"});
    CHECK(ways_of(slice, placing, 16) == Ways{"ici.2:16", "ici.0:2 ici.1:8"});
    CHECK(ways_of(slice, placing, 3).empty());
    const Slice cube = catalogue_slice("tpu-v5p", "8x8x8");
    CHECK(ways_of(cube, Placing(cube), 16) == Ways{"ici.0:8 ici.1:2", "ici.0:8 ici.2:2", "ici.1:8 ici.0:2",
                                                   "ici.1:8 ici.2:2", "ici.2:8 ici.0:2", "ici.2:8 ici.1:2"});
}

TEST_CASE("on switched tiers an axis has one way, which continues on the next tier") {
    const Slice slice = catalogue_slice("h100-sxm", "8x4");
    Placing placing(slice);
    CHECK(ways_of(slice, placing, 4) == Ways{"nvlink:4"});
    CHECK(ways_of(slice, placing, 16) == Ways{"nvlink:8 ib:2"});
    placing.take({{0, 0, 4, 1, false}});
    CHECK(ways_of(slice, placing, 4) == Ways{"nvlink:2 ib:2"});
    CHECK(ways_of(slice, placing, 64).empty());
}
