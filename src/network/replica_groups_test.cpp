#include "network/replica_groups.hpp"

#include <doctest/doctest.h>

#include <string>

#include "machine/catalogue.hpp"
#include "network/collective.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

using Groups = std::vector<std::vector<std::int64_t>>;

ReplicaGroups parsed(std::string_view text, std::optional<std::int64_t> devices = std::nullopt) {
    auto groups = parse_replica_groups(text, devices);
    REQUIRE_MESSAGE(groups.has_value(), to_text(groups.error()));
    return *groups;
}

Groups written_out(const ReplicaGroups& groups) {
    Groups result;
    for (std::int64_t g = 0; g < groups.groups; ++g) {
        result.emplace_back();
        for (std::int64_t i = 0; i < groups.size; ++i) result.back().push_back(groups.member(g, i));
    }
    return result;
}

Groups groups(std::string_view text, std::optional<std::int64_t> devices = std::nullopt) {
    return written_out(parsed(text, devices));
}

void check_refused(std::string_view text, std::string_view says, std::optional<std::int64_t> devices = std::nullopt) {
    CAPTURE(text);
    const auto refused = parse_replica_groups(text, devices);
    REQUIRE(!refused.has_value());
    CHECK(refused.error().code == "bad_groups");
    CHECK_MESSAGE(refused.error().message.find(says) != std::string::npos, refused.error().message);
    CHECK(refused.error().message.size() < 300);
}

std::string placed(const Slice& on, std::string_view text) {
    const auto axis = place_groups(on, parsed(text));
    REQUIRE_MESSAGE(axis.has_value(), to_text(axis.error()));
    return place_text(on, *axis);
}

bool irregular(const Slice& on, std::string_view text) {
    const auto axis = place_groups(on, parsed(text));
    return !axis.has_value() && axis.error().code == "irregular_groups" && !axis.error().hint.empty();
}

}  // namespace

TEST_CASE("network: replica groups that are listed") {
    CHECK(groups("{{0,1},{2,3}}") == Groups{{0, 1}, {2, 3}});
    CHECK(groups(" { { 3 , 1 } , { 2 , 0 } } ") == Groups{{3, 1}, {2, 0}});
    CHECK(groups("{{0}}") == Groups{{0}});
    CHECK(groups("{}", 4) == Groups{{0, 1, 2, 3}});
    CHECK(groups("{{0,1},{2,3}}", 4) == Groups{{0, 1}, {2, 3}});
}

TEST_CASE("network: replica groups as a reshaped and transposed range") {
    // 0 1 2 3 / 4 5 6 7, read down its columns: 0 4 1 5 2 6 3 7.
    CHECK(groups("[4,2]<=[2,4]T(1,0)") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
    CHECK(groups("[2,4]<=[2,4]T(1,0)") == Groups{{0, 4, 1, 5}, {2, 6, 3, 7}});
    CHECK(groups("[2,4]<=[8]") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
    CHECK(groups("[2,4]<=[2,2,2]T(1,0,2)") == Groups{{0, 1, 4, 5}, {2, 3, 6, 7}});
    CHECK(groups("[1,1]<=[1]") == Groups{{0}});
    CHECK(groups("[2,3]<=[3,2]T(1,0)", 6) == Groups{{0, 2, 4}, {1, 3, 5}});
}

TEST_CASE("network: replica groups over the axes of a mesh") {
    CHECK(groups("mesh['x'=2,'y'=4] {'y'}") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
    CHECK(groups("mesh['x'=2,'y'=4] {'x'}") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
    CHECK(groups("mesh['x'=2,'y'=2] {'y','x'}") == Groups{{0, 2, 1, 3}});
    CHECK(groups("mesh['stage'=1,'local'=4] {'local'}") == Groups{{0, 1, 2, 3}});
    CHECK(groups("mesh['stage'=1,'local'=2] {'stage'}") == Groups{{0}, {1}});
    // An axis of 8 as 2 x 2 x 2: its middle, its outer two thirds, its outermost and innermost part.
    CHECK(groups("mesh['a'=8] {'a':(2)2}") == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
    CHECK(groups("mesh['a'=8] {'a':(1)4}") == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
    CHECK(groups("mesh['a'=8] {'a':(1)2,'a':(4)2}") == Groups{{0, 1, 4, 5}, {2, 3, 6, 7}});
}

TEST_CASE("network: replica groups that are refused") {
    check_refused("", "expected `{`");
    check_refused("{{0,1},{2,3}", "expected `,` or `}`");
    check_refused("{{0,1},{2,3}} x", "expected the end");
    check_refused("{{0,1},{}}", "expected the number of a device");
    check_refused("{{0,1},{2}}", "group 1 has 1 devices");
    check_refused("{{0,1},{1,2}}", "device 1 occurs twice");
    check_refused("{{0,1},{2,4}}", "device 3 of 4 is missing");
    check_refused("{{0,1},{2,-3}}", "column 11");
    check_refused("{{0,99999999999999999999}}", "expected the number");
    check_refused("{}", "not known");
    check_refused("{}", "0 devices", 0);
    check_refused("{}", "2000000000 devices", 2000000000);
    check_refused("{{0,1}}", "name 2 devices, but there are 4", 4);
    check_refused("[2,4]<=[9]", "[2,4] has 8 devices, but [9] has 9");
    check_refused("[8]<=[8]", "not a number of groups and their size");
    check_refused("[2,4]", "expected `<=`");
    check_refused("[2,0]<=[0]", "a size from 1");
    check_refused("[2,4]<=[2,4]T(0)", "each of the 2 dimensions once");
    check_refused("[2,4]<=[2,4]T(0,0)", "each of the 2 dimensions once");
    check_refused("[2,4]<=[2,4]T(0,2)", "each of the 2 dimensions once");
    check_refused("[2,4]<=[2,4]T(1,0", "expected `,` or `)`");
    check_refused("[4000000000,4000000000]<=[8]", "a size from 1 to a billion");
    check_refused("[1000000000,1000000000]<=[8]", "more than a billion devices");
    check_refused("[65536,65536]<=[4]", "more than a billion devices");
    std::string dims = "[1,1]<=[1";
    for (int i = 0; i < 100000; ++i) dims += ",1";
    check_refused(dims + "]", "more than 32 dimensions");
    check_refused("mesh['x'=2,'x'=2] {'x'}", "two axes 'x'");
    check_refused("mesh['x'=2] {'y'}", "no axis 'y'");
    check_refused("mesh['x'=2] {}", "the name of an axis");
    check_refused("mesh['x'=4] {'x':(3)2}", "(3)2 does not divide axis 'x' of 4");
    check_refused("mesh['x'=4] {'x':(1)2,'x':(1)2}", "axis 'x' is named twice");
    check_refused("mesh['x'=12] {'x':(2)2,'x':(3)2}", "overlap");
    check_refused("mesh['x'=4] {'x':(1)1000000000}", "does not divide");
    check_refused("mesh['x'=2], device_ids=([2]) {'x'}", "not supported");
    check_refused("mesh[" + std::string(100000, '\''), "the name of an axis");
    check_refused(std::string(1000000, '{'), "expected the number");
}

TEST_CASE("network: replica groups are placed along the links, innermost first") {
    const Slice nodes = catalogue_slice("h100-sxm", "8x16");
    CHECK(placed(nodes, "[16,8]<=[128]") == "nvlink");
    CHECK(placed(nodes, "[8,16]<=[16,8]T(1,0)") == "ib");
    CHECK(placed(nodes, "[1,128]<=[128]") == "nvlink; ib");
    CHECK(placed(nodes, "[32,4]<=[128]") == "nvlink x 4 of 8");
    CHECK(placed(nodes, "[4,32]<=[128]") == "nvlink; ib x 4 of 16");
    CHECK(placed(nodes, "[128,1]<=[128]") == "one chip");
    CHECK(placed(nodes, "mesh['data'=16,'model'=8] {'data'}") == "ib");
    const Slice torus = catalogue_slice("tpu-v5e", "4x4");
    CHECK(placed(torus, "{{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}}") == "ici.0, unwrapped");
    CHECK(placed(torus, "{{0,4,8,12},{1,5,9,13},{2,6,10,14},{3,7,11,15}}") == "ici.1, unwrapped");
    // In another order they are the same chips.
    CHECK(placed(torus, "{{3,1,2,0},{7,6,5,4},{8,9,10,11},{15,13,14,12}}") == "ici.0, unwrapped");
    CHECK(placed(torus, "{{0,1,4,5},{2,3,6,7},{8,9,12,13},{10,11,14,15}}") ==
          "ici.0 x 2 of 4, unwrapped; ici.1 x 2 of 4, unwrapped");
    CHECK(placed(catalogue_slice("tpu-v5e", "16x16"), "[64,4]<=[256]") == "ici.0 x 4 of 16, unwrapped");
    // Every fourth chip of a ring of 16 forms a ring over the chips between.
    CHECK(placed(catalogue_slice("tpu-v5e", "16x16"), "[64,4]<=[16,4,4]T(0,2,1)") == "ici.0 x 4 of 16, a ring");
}

TEST_CASE("network: a collective over replica groups costs as much as over the mesh axis") {
    const Slice on = catalogue_slice("tpu-v5e", "4x16");
    const auto mesh = place_mesh(on, {{"X", 4}, {"Y", 16}});
    REQUIRE(mesh.has_value());
    const auto ring = place_groups(on, parsed("[4,16]<=[16,4]T(1,0)"));
    REQUIRE(ring.has_value());
    CHECK(ring->lanes == (*mesh)[1].lanes);
    const auto load = collective_load(on, CollectiveKind::all_gather, {&*ring});
    CHECK(load->tiers.at(0).link_bytes == Rational(15, 32));
    CHECK(load->members == 16);
}

TEST_CASE("network: irregular replica groups are refused when they are placed") {
    const Slice on = catalogue_slice("h100-sxm", "8");
    CHECK(irregular(on, "{{0,1,2,4},{3,5,6,7}}"));
    CHECK(irregular(on, "{{1,2},{0,3},{4,5},{6,7}}"));
    CHECK(irregular(on, "{{0,3},{1,4},{2,5},{6,7}}"));
    CHECK(irregular(on, "{{0,1},{2,4},{3,5},{6,7}}"));
    CHECK(irregular(catalogue_slice("h100-sxm", "6"), "{{1,2},{3,4},{0,5}}"));
    CHECK(irregular(catalogue_slice("h100-sxm", "6x2"), "[2,6]<=[4,3]T(1,0)"));
    CHECK(irregular(catalogue_slice("h100-sxm", "6x2"),
                    "[3,4]<=[12]"));  // a group would consist of part of a node and part of the next
    const auto wrong = place_groups(on, parsed("[1,4]<=[4]"));
    REQUIRE(!wrong.has_value());
    CHECK(wrong.error().message.find("name 4 devices, but the slice 8 has 8 chips") != std::string::npos);
}

TEST_CASE("network: replica groups of a million devices") {
    const Slice on = catalogue_slice("h100-sxm", "8x125000");
    CHECK(placed(on, "[8,125000]<=[125000,8]T(1,0)") == "ib");
    CHECK(parsed("[8,125000]<=[125000,8]T(1,0)").member(7, 124999) == 999999);
    std::string listed = "{{0";
    for (int i = 1; i < 1000000; ++i) listed += "," + std::to_string(i);
    CHECK(placed(on, listed + "}}") == "nvlink; ib");
}
