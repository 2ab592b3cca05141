#include "calibrate/routed_rows.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "network/slice.hpp"

using namespace roofline;

TEST_CASE("groups that a token reaches are counted by drawing without putting back") {
    // 4 experts on 2 chips, 2 choices: of the 6 pairs two lie on one chip alone; (2 * 1 + 4 * 2) / 6
    CHECK(groups_reached(4, 2, 2) == approx(10.0 / 6));
    // 8 experts on 8 chips: every choice is another chip
    CHECK(groups_reached(8, 2, 8) == approx(2));
    // one choice is one chip, all experts are all chips, one group is one
    CHECK(groups_reached(128, 1, 8) == approx(1));
    CHECK(groups_reached(16, 16, 4) == approx(4));
    CHECK(groups_reached(16, 3, 1) == approx(1));
}

namespace {

struct Wired {
    System system;
    ExchangeWires wires;
};

Wired wired(const char* shape) {
    Wired wired;
    wired.system.slice = *make_slice(*find_machine("h100-sxm5"), shape);
    wired.system.mesh = *place_mesh(wired.system.slice, {{"all", wired.system.slice.chips()}});
    const auto load = collective_load(wired.system.slice, CollectiveKind::all_to_all, {&wired.system.mesh.front()});
    wired.wires = *exchange_wires(*load, {&wired.system.mesh.front()}, wired.system.slice);
    return wired;
}

}  // namespace

TEST_CASE("in one node a chip sends seven eighths of its rows over its link") {
    const Wired node = wired("8");
    const RoutedTokens tokens{100, 2, 8, 1000};
    const RoutedRows by_choice = routed_rows(tokens, node.wires, false);
    CHECK(by_choice.rows == approx(100 * 2 * 7.0 / 8));
    CHECK(1e9 * by_choice.wire_s == approx(100 * 2 * 7.0 / 8 * 1000 / 450));
    // with one expert a chip two choices are two chips: nothing is saved
    CHECK(routed_rows(tokens, node.wires, true).wire_s / by_choice.wire_s == approx(1));
    // with 32 on each, of 8 choices 8 (1 - C(224, 8) / C(256, 8)) = 5.29465 chips
    const RoutedRows once = routed_rows({100, 8, 256, 1000}, node.wires, true);
    CHECK(once.rows == approx(100 * 5.29465 * 7 / 8).epsilon(1e-5));
    CHECK(1e9 * once.wire_s == approx(100 * 5.29465 * 7 / 8 * 1000 / 450).epsilon(1e-5));
}

TEST_CASE("between nodes a token goes once, and is passed on inside") {
    const Wired nodes = wired("8x2");
    // one expert on each of 16 chips, 16 choices: all of them. By choice 8 rows leave a node, once it is one;
    // the network cards carry 50 GB/s
    const RoutedTokens tokens{64, 16, 16, 4096};
    CHECK(1e9 * routed_rows(tokens, nodes.wires, false).wire_s == approx(64 * 8 * 4096 / 50.0));
    // once: the card carries one copy of half of... every token: 64 rows; inside, each chip gets a copy of 16 chips' tokens from
    // 7 of 8 chips: 64 * 16 * 7 / 8 rows of 450 GB/s, which is longer
    CHECK(1e9 * routed_rows(tokens, nodes.wires, true).wire_s ==
          approx(std::max(64 * 4096 / 50.0, 64 * 16 * 7.0 / 8 * 4096 / 450)));
}
