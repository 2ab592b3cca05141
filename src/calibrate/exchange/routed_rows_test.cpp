#include "calibrate/exchange/routed_rows.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "network/slice.hpp"

using namespace roofline::core;

TEST_CASE("parts that a token reaches are counted by drawing without putting back") {
    // 4 experts on 2 chips and 2 choices: of the 6 pairs two lie on a single chip; (2 * 1 + 4 * 2) / 6
    CHECK(parts_reached(4, 2, 2) == approx(10.0 / 6));
    // 8 experts on 8 chips: every choice is another chip
    CHECK(parts_reached(8, 2, 8) == approx(2));
    // one choice is one chip, all experts are all chips, and a single part is reached always
    CHECK(parts_reached(128, 1, 8) == approx(1));
    CHECK(parts_reached(16, 16, 4) == approx(4));
    CHECK(parts_reached(16, 3, 1) == approx(1));
}

TEST_CASE("a token that is limited to some groups of experts reaches fewer nodes") {
    // DeepSeek-V3: 8 of 256 experts in 4 of 8 groups, with one group per node: 4 (1 - C(96, 8) / C(128, 8)) of 8 nodes
    CHECK(parts_reached(256, 8, 8, {4, 8}) == approx(3.629).epsilon(1e-3));
    // 32 of 64 chips remain, with 4 experts each
    double none = 1;
    for (int i = 0; i < 8; ++i) none *= (124.0 - i) / (128.0 - i);
    CHECK(parts_reached(256, 8, 64, {4, 8}) == approx(32 * (1 - none)));
    // four nodes hold two groups each; of the C(8, 4) = 70 sets of groups 15, 40 and 15 have 0, 1 and 2 groups on a
    // node
    double none_of_one = 1;
    double none_of_two = 1;
    for (int i = 0; i < 8; ++i) {
        none_of_one *= (96.0 - i) / (128.0 - i);
        none_of_two *= (64.0 - i) / (128.0 - i);
    }
    CHECK(parts_reached(256, 8, 4, {4, 8}) == approx(4 * (1 - (15 + 40 * none_of_one + 15 * none_of_two) / 70)));
    // one choice is one part, however experts are grouped; choosing all groups is no limit
    CHECK(parts_reached(240, 1, 3, {2, 8}) == approx(1));
    CHECK(parts_reached(256, 8, 8, {8, 8}) == approx(parts_reached(256, 8, 8)));
}

TEST_CASE("groups of experts that lie across two parts are counted by drawing all sets") {
    // 12 experts, 4 groups of 3, 3 parts of 4: a token chooses 2 groups and then 3 of their 6 experts
    int parts = 0;
    int sets = 0;
    for (int a = 0; a < 4; ++a) {
        for (int b = a + 1; b < 4; ++b) {
            const int experts[6] = {3 * a, 3 * a + 1, 3 * a + 2, 3 * b, 3 * b + 1, 3 * b + 2};
            for (int i = 0; i < 6; ++i) {
                for (int j = i + 1; j < 6; ++j) {
                    for (int k = j + 1; k < 6; ++k) {
                        const int reached = 1 << experts[i] / 4 | 1 << experts[j] / 4 | 1 << experts[k] / 4;
                        parts += (reached & 1) + (reached >> 1 & 1) + (reached >> 2);
                        ++sets;
                    }
                }
            }
        }
    }
    CHECK(parts_reached(12, 3, 3, {2, 4}) == approx(static_cast<double>(parts) / sets));
}

namespace {

struct Wired {
    System system;
    ExchangeLinks wires;
};

Wired wired(const char* shape) {
    Wired wired;
    wired.system.slice = *make_slice(*find_machine("h100-sxm5"), shape);
    wired.system.mesh = *place_mesh(wired.system.slice, {{"all", wired.system.slice.chips()}});
    const auto load = collective_load(wired.system.slice, CollectiveKind::all_to_all, {&wired.system.mesh.front()});
    wired.wires = *exchange_links(*load, {&wired.system.mesh.front()}, wired.system.slice);
    return wired;
}

}  // namespace

TEST_CASE("in one node a chip sends seven eighths of its rows over its link") {
    const Wired node = wired("8");
    const RoutedTokens tokens{100, 2, 8, 1000};
    const RoutedRows by_choice = routed_rows(tokens, node.wires, false);
    CHECK(by_choice.rows == approx(100 * 2 * 7.0 / 8));
    CHECK(1e9 * by_choice.wire_s == approx(100 * 2 * 7.0 / 8 * 1000 / 450));
    // with one expert per chip, two choices are two chips, so nothing is saved
    CHECK(routed_rows(tokens, node.wires, true).wire_s / by_choice.wire_s == approx(1));
    // with 32 experts per chip, 8 choices reach 8 (1 - C(224, 8) / C(256, 8)) = 5.29465 chips
    const RoutedRows once = routed_rows({100, 8, 256, 1000}, node.wires, true);
    CHECK(once.rows == approx(100 * 5.29465 * 7 / 8).epsilon(1e-5));
    CHECK(1e9 * once.wire_s == approx(100 * 5.29465 * 7 / 8 * 1000 / 450).epsilon(1e-5));
}

TEST_CASE("between nodes a token goes once, and is passed on inside") {
    const Wired nodes = wired("8x2");
    // One expert on each of 16 chips and 16 choices reach all chips. Sent by choice, 8 rows leave a node; sent once,
    // one does. The network cards carry 50 GB/s.
    const RoutedTokens tokens{64, 16, 16, 4096};
    CHECK(1e9 * routed_rows(tokens, nodes.wires, false).wire_s == approx(64 * 8 * 4096 / 50.0));
    // Sent once, a card carries 64 rows. Inside the node, each chip receives the tokens of 16 chips from 7 of 8 chips:
    // 64 * 16 * 7 / 8 rows at 450 GB/s, which takes longer.
    CHECK(1e9 * routed_rows(tokens, nodes.wires, true).wire_s ==
          approx(std::max(64 * 4096 / 50.0, 64 * 16 * 7.0 / 8 * 4096 / 450)));
}
