#include "network/slice.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <numeric>

#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

Result<Slice> slice(std::string_view machine, std::string_view shape) {
    auto found = find_machine(machine);
    REQUIRE(found.has_value());
    return make_slice(std::move(*found), shape);
}

// A switch of 4 inside, and a user-defined torus outside.
Machine toy(std::vector<NetworkTier> network) {
    Machine machine;
    machine.id = "toy";
    machine.name = "Toy";
    machine.network = std::move(network);
    return machine;
}

NetworkTier tier(std::string_view topology, std::int64_t domain = 0) {
    NetworkTier result;
    result.id = result.label = result.topology = topology;
    result.domain = domain;
    return result;
}

// Returns 'r' for each axis that closes into a ring and '-' for an open one, for the innermost tier.
std::string wraps(std::string_view machine, std::string_view shape) {
    const auto made = slice(machine, shape);
    REQUIRE_MESSAGE(made.has_value(), to_text(made.error()));
    REQUIRE(!made->tiers.empty());
    std::string text;
    for (const bool wrapped : made->tiers[0].wrapped) text += wrapped ? 'r' : '-';
    return text;
}

void check_refused(std::string_view machine, std::string_view shape, std::string_view says) {
    CAPTURE(machine);
    CAPTURE(shape);
    const auto made = slice(machine, shape);
    REQUIRE(!made.has_value());
    CHECK(made.error().code == "bad_slice");
    CHECK_MESSAGE(made.error().message.find(says) != std::string::npos, made.error().message);
}

}  // namespace

TEST_CASE("network: which axes of a slice close into rings") {
    // v5p, v4, v7x consist of 4x4x4 cubes; smaller slices are open.
    CHECK(wraps("tpu-v5p", "2x2x1") == "---");
    CHECK(wraps("tpu-v5p", "2x2x2") == "---");
    CHECK(wraps("tpu-v5p", "2x2x4") == "---");
    CHECK(wraps("tpu-v5p", "2x4x4") == "---");
    CHECK(wraps("tpu-v5p", "4x4x4") == "rrr");
    CHECK(wraps("tpu-v5p", "4x4x8") == "rrr");
    CHECK(wraps("tpu-v5p", "16x20x28") == "rrr");
    CHECK(wraps("tpu-v4", "4x4x4") == "rrr");
    CHECK(wraps("tpu-v4", "2x2x4") == "---");
    CHECK(wraps("tpu-v7x", "4x4x12") == "rrr");
    // On v5e and v6e an axis of 16 closes.
    CHECK(wraps("tpu-v5e", "2x2") == "--");
    CHECK(wraps("tpu-v5e", "4x4") == "--");
    CHECK(wraps("tpu-v5e", "8x8") == "--");
    CHECK(wraps("tpu-v5e", "8x16") == "-r");
    CHECK(wraps("tpu-v5e", "16x8") == "r-");
    CHECK(wraps("tpu-v5e", "16x16") == "rr");
    CHECK(wraps("tpu-v6e", "16x16") == "rr");
    // v2 closes at 16, v3 at 32.
    CHECK(wraps("tpu-v2", "16x16") == "rr");
    CHECK(wraps("tpu-v3", "16x16") == "--");
    CHECK(wraps("tpu-v3", "16x32") == "-r");
    CHECK(wraps("trainium1", "4x4") == "rr");
    CHECK(wraps("inferentia2", "6") == "r");
}

TEST_CASE("network: the chips of slices") {
    const struct {
        std::string_view machine, shape, text;
        std::int64_t chips;
        std::size_t tiers;
    } rows[] = {
        {"tpu-v5e", "1", "1", 1, 0},
        {"tpu-v5e", "4", "4x1", 4, 1},
        {"tpu-v5e", "4x4", "4x4", 16, 1},
        {"tpu-v5e", "16x16*2", "16x16*2", 512, 2},
        {"tpu-v5p", "16x20x28", "16x20x28", 8960, 1},  // a whole pod
        {"tpu-v5p", "28x16x20", "28x16x20", 8960, 1},  // axes in any order
        {"tpu-v5p", "16x16x16*4", "16x16x16*4", 16384, 2},
        {"tpu-v5p", "4x4", "4x4x1", 16, 1},  // an axis that is not given has length 1
        {"tpu-v5p", "1*4", "1*4", 4, 1},     // four chips over the data-centre network, not four in a torus
        {"h100-sxm", "8", "8", 8, 1},
        {"h100-sxm", "8x16", "8x16", 128, 2},
        {"h100-sxm", "8*16", "8x16", 128, 2},
        {"h100-sxm", "1x16", "1x16", 16, 1},  // one chip per node
        {"h100-sxm", "8x1", "8", 8, 1},
        {"h100-sxm", "8x1x1", "8", 8, 1},
        {"gb200", "72x4", "72x4", 288, 2},
        {"mi300x", "8", "8", 8, 1},
        {"cerebras-wse3", "4", "4", 4, 1},  // the fabric connects the cores of one wafer; Ethernet connects wafers
        {"h100-sxm", "8x125000", "8x125000", 1000000, 2},
        {"h100-sxm", "8x125000000", "8x125000000", 1000000000, 2},
    };
    for (const auto& row : rows) {
        CAPTURE(row.machine);
        CAPTURE(row.shape);
        const auto made = slice(row.machine, row.shape);
        REQUIRE_MESSAGE(made.has_value(), to_text(made.error()));
        CHECK(made->chips() == row.chips);
        CHECK(made->tiers.size() == row.tiers);
        CHECK(made->shape_text() == row.text);
        const auto again = slice(row.machine, made->shape_text());
        REQUIRE(again.has_value());
        CHECK(again->chips() == row.chips);
        CHECK(again->shape_text() == row.text);
    }
}

TEST_CASE("network: tiers of a slice are those of the machine") {
    const auto node = slice("h100-sxm", "8x16");
    REQUIRE(node.has_value());
    CHECK(node->network(node->tiers[0]).id == "nvlink");
    CHECK(node->network(node->tiers[1]).id == "ib");
    CHECK(node->tiers[0].members() == 8);
    CHECK(node->tiers[1].members() == 16);
    const auto nodes = slice("h100-sxm", "1x16");
    REQUIRE(nodes.has_value());
    CHECK(nodes->network(nodes->tiers[0]).id == "ib");
    const auto pods = slice("tpu-v5p", "16x16x16*4");
    REQUIRE(pods.has_value());
    CHECK(pods->network(pods->tiers[1]).id == "dcn");
    CHECK(pods->tiers[1].shape == std::vector<std::int64_t>{4});
    CHECK(pods->tiers[1].wrapped == std::vector<bool>{false});
    CHECK(slice("cerebras-wse3", "4")->network(slice("cerebras-wse3", "4")->tiers[0]).id == "ethernet");
}

TEST_CASE("network: slices that cannot be built are refused") {
    check_refused("tpu-v5e", "5x3", "cannot be wired");
    check_refused("tpu-v5e", "1x3", "cannot be wired");
    check_refused("tpu-v5p", "5x3", "cannot be wired");
    check_refused("tpu-v5p", "8x8x2", "cannot be wired");  // neither whole cubes nor a part of one
    check_refused("tpu-v5p", "3x4x4", "cannot be wired");
    check_refused("tpu-v5p", "4x4x6", "cannot be wired");
    check_refused("tpu-v5e", "32x32", "larger than a pod");
    check_refused("tpu-v5e", "32x8", "larger than a pod");
    check_refused("tpu-v5p", "20x20x28", "larger than a pod");
    check_refused("tpu-v5p", "16x16x32", "larger than a pod");
    check_refused("tpu-v5e", "1x1x1x1", "has 2 axes");
    check_refused("tpu-v5p", "4x4x4x4", "has 3 axes");
    check_refused("h100-sxm", "16", "connects 8 chips");
    check_refused("h100-sxm", "9x2", "connects 8 chips");
    const auto larger = slice("h100-sxm", "256");
    REQUIRE(!larger.has_value());
    CHECK(larger.error().hint == "write several such groups as h100-sxm5:8x32");
    check_refused("gb200", "73", "connects 72 chips");
    check_refused("inferentia2", "13", "connects 12 chips");
    check_refused("h100-sxm", "8x4x2", "needs more");
    check_refused("tpu-v5e", "16x16*2*2", "is not a slice shape");
    CHECK(slice("h100-sxm", "16").error().hint.find(":8x2") != std::string::npos);
    CHECK(slice("tpu-v5e", "4x4x2").error().hint.find("4x4*4") != std::string::npos);
}

TEST_CASE("network: the hint for a slice beyond a pod names one that is accepted") {
    const auto hint = [](const char* machine, const char* shape) {
        const auto refused = slice(machine, shape);
        REQUIRE(!refused.has_value());
        return refused.error().hint;
    };
    // a pod of 4x4 has 8 chips as 2x4 and 16 as 4x4
    CHECK(hint("trainium2", "8") == "write trainium2:2x4");
    CHECK(hint("trainium2", "16") == "write trainium2:4x4");
    CHECK(hint("trainium2", "8x1*2") == "write trainium2:2x4*2");
    // two slices of 256 chips are 32 pods of 16
    CHECK(hint("trainium2", "16x16*2") == "write several slices, which EFA connects: trainium2:4x4*32");
    CHECK(hint("trainium2", "32") == "write several slices, which EFA connects: trainium2:4x4*2");
    CHECK(hint("tpu-v5e", "256") == "write tpu-v5e:16x16");
    CHECK(hint("tpu-v5e", "32") == "write tpu-v5e:4x8");
    CHECK(hint("tpu-v5e", "300") == "write several slices, which DCN connects: tpu-v5e:16x16*2");
    CHECK(hint("tpu-v5p", "4096") == "write tpu-v5p:16x16x16");
    // 17 is prime, and an axis has at most 16 chips
    CHECK(hint("tpu-v5e", "17") == "a whole pod is tpu-v5e:16x16");
    // a part of a cube of four: 8 chips are 2x2x2, not 8x1x1
    CHECK(hint("tpu-v5p", "8") ==
          "axes must be multiples of 4, or all at most 4 and divisors of it; write tpu-v5p:2x2x2");
    for (const auto& [machine, shape] :
         {std::pair{"trainium2", "4x4*32"}, {"tpu-v5e", "16x16*2"}, {"tpu-v5e", "4x8"}}) {
        CHECK(slice(machine, shape).has_value());
    }
}

TEST_CASE("network: text that is not a shape") {
    for (const std::string_view shape :
         {"", "x", "4x", "x4", "0x4", "4x0", "0", "-4x4", "4*", "*4", "4*0", "4x4*x", "4 x4 y", "4.5x4", "axb", "4,4",
          "99999999999999999999", "4x99999999999999999999", "9223372036854775807x2"}) {
        CAPTURE(shape);
        for (const std::string_view machine : {"tpu-v5e", "h100-sxm"}) {
            const auto made = slice(machine, shape);
            REQUIRE(!made.has_value());
            CHECK(made.error().code == "bad_slice");
        }
    }
    // Each number fits, but their product does not.
    check_refused("h100-sxm", "1000000000x1000000000x1000000000", "more than a billion");
    check_refused("tpu-v5e", "16x16*1000000000", "more than a billion");
    check_refused("h100-sxm", "8x125000001", "more than a billion");
}

TEST_CASE("network: a slice larger than the available ones is built, with a note") {
    const auto pod = slice("tpu-v5p", "16x20x28");
    REQUIRE(pod.has_value());
    REQUIRE(pod->notes.size() == 1);
    CHECK(pod->notes[0].find("16x16x24") != std::string::npos);
    CHECK(slice("tpu-v5p", "16x16x24")->notes.empty());
    CHECK(slice("tpu-v5p", "24x16x16")->notes.empty());
    CHECK(slice("tpu-v5p", "4x4x28")->notes.size() == 1);  // 448 chips, but no available slice has an axis of 28
    CHECK(slice("tpu-v5e", "16x16")->notes.empty());
}

TEST_CASE("network: user-defined machines") {
    CHECK(make_slice(toy({}), "1")->chips() == 1);
    CHECK(make_slice(toy({}), "1x1*1")->chips() == 1);
    CHECK(make_slice(toy({}), "2").error().code == "bad_slice");
    CHECK(make_slice(toy({}), "2").error().message.find("no network") != std::string::npos);

    // A tier without a domain has no limit; `none` and tiers inside one chip are skipped.
    CHECK(make_slice(toy({tier("none"), tier("switch")}), "77")->network({1, {}, {}}).id == "switch");
    CHECK(make_slice(toy({tier("none"), tier("switch")}), "77")->chips() == 77);
    CHECK(make_slice(toy({tier("none")}), "2").error().code == "bad_slice");
    CHECK(make_slice(toy({tier("pair")}), "2")->chips() == 2);
    CHECK(make_slice(toy({tier("pair")}), "3").error().message.find("connects 2 chips") != std::string::npos);

    // A torus whose file says nothing about rings is open, and a note says so; a mesh is open by definition.
    const auto open = make_slice(toy({tier("torus2d")}), "4x6");
    CHECK(open->tiers[0].wrapped == std::vector<bool>{false, false});
    CHECK(open->notes.size() == 1);
    CHECK(make_slice(toy({tier("mesh2d")}), "4x6")->notes.empty());
    CHECK(make_slice(toy({tier("torus3d")}), "2x3x5")->tiers[0].shape == std::vector<std::int64_t>{2, 3, 5});
    CHECK(make_slice(toy({tier("torus2d")}), "2x3x5").error().code == "bad_slice");
    CHECK(make_slice(toy({tier("ring", 12)}), "12")->tiers[0].wrapped == std::vector<bool>{true});
    CHECK(make_slice(toy({tier("ring")}), "2x2").error().message.find("has 1 axis,") != std::string::npos);

    // Tiers inside a torus, and a ring outside of a switch.
    const auto outer = make_slice(toy({tier("switch", 4), tier("ring")}), "4x6");
    CHECK(outer->chips() == 24);
    CHECK(outer->tiers[1].wrapped == std::vector<bool>{true});

    for (const std::string_view topology : {"partial_mesh", "hybrid_cube_mesh", "dragonfly"}) {
        const auto made = make_slice(toy({tier(topology)}), "4");
        REQUIRE(made.has_value());
        REQUIRE(made->notes.size() == 1);
        CHECK(made->notes[0].find("may exceed these lower bounds") != std::string::npos);
        CHECK(make_slice(toy({tier(topology)}), "1")->notes.empty());
    }
}

TEST_CASE("network: every built-in machine makes a slice of two, or an error says why not") {
    for (const std::string& id : machine_ids()) {
        CAPTURE(id);
        CHECK(slice(id, "1")->chips() == 1);
        const auto two = slice(id, "2");
        if (two.has_value()) {
            CHECK(two->chips() == 2);
        } else {
            CHECK(!two.error().message.empty());
        }
    }
}

TEST_CASE("bisections are those that vendors publish") {
    const auto links = [](const char* machine, const char* shape, std::size_t tier) {
        const auto slice = make_slice(find_machine(machine).value(), shape);
        REQUIRE_MESSAGE(slice.has_value(), to_text(slice.error()));
        return bisection_links(*slice, slice->tiers.at(tier));
    };
    CHECK(links("tpu-v5e", "16x16", 0) == 32);      // 1.6 TB/s at 50 GB/s per link
    CHECK(links("tpu-v5e", "4x8", 0) == 4);         // open: across the longer axis
    CHECK(links("tpu-v5p", "16x20x28", 0) == 640);  // rings across the axis of 28
    CHECK(links("h100-sxm", "8x4", 0) == 4);
    CHECK(links("h100-sxm", "8x4", 1) == 2);
    CHECK(links("mi300x", "8", 0) == 16);  // each of four chips with each of four others
}
