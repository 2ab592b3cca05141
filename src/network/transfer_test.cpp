#include "network/transfer.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;
using Kind = CollectiveKind;

namespace {

Chip chip(const Slice& on, std::string_view text) {
    const auto parsed = parse_chip(on, text);
    REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
    return *parsed;
}

Rational send(const Slice& on, std::string_view from, std::string_view to) {
    return tightest_cut(*send_load(on, chip(on, from), chip(on, to)));
}

Rational rooted(const Slice& on, CollectiveKind kind, std::string_view root) {
    return tightest_cut(*rooted_load(on, kind, chip(on, root)));
}

}  // namespace

TEST_CASE("network: from corner to corner of an open 4x4") {
    const Slice v5e = catalogue_slice("tpu-v5e", "4x4");
    // 3 + 3 hops of one microsecond until the first byte; either corner has two links.
    const auto load = send_load(v5e, chip(v5e, "0,0"), chip(v5e, "3,3"));
    CHECK(load->hops == 6);
    CHECK(load->latency_s == approx(6e-6));
    CHECK(send(v5e, "0,0", "3,3") == Rational(1, 2));
    CHECK(send(v5e, "0,0", "1,1") == Rational(1, 2));
    CHECK(send(v5e, "1,0", "2,3") == Rational(1, 3));
    CHECK(send(v5e, "1,1", "2,2") == Rational(1, 4));
    // int8[128Ki, 128Ki], a sixteenth on each chip, comes together in the corner: 15/16 over two links of 45 GB/s are
    // 179 ms.
    const auto gathered = rooted_load(v5e, Kind::gather, chip(v5e, "0,0"));
    CHECK(gathered->transfer_s(131072.0 * 131072.0, {45e9}) == approx(0.17895697066666666));
    CHECK(gathered->cuts == std::vector<TransferCut>{{Rational(15, 16), {Rational(2)}}});
    CHECK(gathered->hops == 6);
    CHECK(rooted(v5e, Kind::scatter, "0,0") == Rational(15, 32));
    // From the inside there are four links; a broadcast still has to reach the corners.
    CHECK(rooted(v5e, Kind::gather, "1,2") == Rational(15, 64));
    CHECK(rooted(v5e, Kind::broadcast, "1,2") == Rational(1, 2));
    CHECK(rooted_load(v5e, Kind::broadcast, chip(v5e, "1,2"))->hops == 4);
}

TEST_CASE("network: rings take the shorter way round") {
    const Slice pod = catalogue_slice("tpu-v5e", "16x16");
    CHECK(send_load(pod, chip(pod, "0,0"), chip(pod, "15,9"))->hops == 1 + 7);
    CHECK(send(pod, "0,0", "15,9") == Rational(1, 4));
    CHECK(rooted(pod, Kind::broadcast, "3,3") == Rational(1, 4));  // V / (2 a W)
    CHECK(rooted(pod, Kind::gather, "3,3") == Rational(255, 1024));
    CHECK(rooted_load(catalogue_slice("tpu-v5p", "16x20x28"), Kind::broadcast, Chip{{0, 0, 0}})->hops == 8 + 10 + 14);
    CHECK(rooted(catalogue_slice("tpu-v5p", "16x20x28"), Kind::broadcast, "5,6,7") == Rational(1, 6));
}

TEST_CASE("network: a narrow part of a slice is tighter than a chip's own links") {
    // Two rows of nine: a middle chip has three links, but the half on one side, 8/18 of V, comes over two.
    const Slice ladder = test_torus({2, 9}, {false, false});
    CHECK(send(ladder, "0,2", "0,6") == Rational(1, 2));
    CHECK(rooted(ladder, Kind::gather, "0,4") == Rational(17, 54));
    CHECK(rooted(ladder, Kind::gather, "0,1") == Rational(14, 36));  // 7 x 2 of 18 chips lie beyond two links
}

TEST_CASE("network: transfers over switches, full meshes and pairs") {
    const Slice node = catalogue_slice("h100-sxm", "8");
    CHECK(send(node, "0", "5") == Rational(1));
    CHECK(rooted(node, Kind::gather, "3") == Rational(7, 8));
    CHECK(rooted(node, Kind::broadcast, "3") == Rational(1));
    // Seven links leave a chip of a full mesh, and six chips can pass on what is not for them.
    const Slice mesh = catalogue_slice("mi300x", "8");
    CHECK(send(mesh, "0", "5") == Rational(1, 7));
    CHECK(rooted(mesh, Kind::scatter, "0") == Rational(1, 8));
    CHECK(rooted(mesh, Kind::broadcast, "0") == Rational(1, 7));
    CHECK(send(catalogue_slice("mi300x", "2"), "0", "1") == Rational(1));
    CHECK(rooted(catalogue_slice("mi300x", "2"), Kind::gather, "1") == Rational(1, 2));
}

TEST_CASE("network: positions of chips") {
    const Slice v5e = catalogue_slice("tpu-v5e", "4x4");
    CHECK(chip(v5e, "0,3").at == std::vector<std::int64_t>{0, 3});
    CHECK(chip(v5e, " ( 1, 2 ) ").at == std::vector<std::int64_t>{1, 2});
    CHECK(chip_text(chip(v5e, "1,2")) == "(1,2)");
    CHECK(chip(catalogue_slice("h100-sxm", "8x16"), "7,15").at == std::vector<std::int64_t>{7, 15});
    CHECK(chip(catalogue_slice("tpu-v5e", "1"), "()").at.empty());
    for (const std::string_view bad : {"", "0", "0,", "0,4", "-1,0", "0,0,0", "a,b", "0;0", "(0,0",
                                       "0,99999999999999999999", "0x1,0", ",", "1,,2"}) {
        CAPTURE(bad);
        const auto refused = parse_chip(v5e, bad);
        REQUIRE(!refused.has_value());
        CHECK(refused.error().code == "bad_chip");
        CHECK(refused.error().hint.find("4,4") != std::string::npos);
    }
    CHECK(parse_chip(v5e, std::string(100000, '1')).error().message.size() < 300);
    CHECK(!send_load(v5e, Chip{{0}}, Chip{{0, 0}}).has_value());
    CHECK(!rooted_load(v5e, Kind::gather, Chip{{0, 4}}).has_value());
    CHECK(rooted_load(v5e, Kind::send, Chip{{0, 0}}).error().code == "bad_transfer");
}

TEST_CASE("network: nothing to send, and a million chips") {
    const Slice v5e = catalogue_slice("tpu-v5e", "4x4");
    const auto nothing = send_load(v5e, chip(v5e, "1,1"), chip(v5e, "1,1"));
    CHECK(nothing->cuts.empty());
    CHECK(nothing->hops == 0);
    CHECK(nothing->transfer_s(1e9, {45e9}) == 0);
    CHECK(rooted_load(catalogue_slice("tpu-v5e", "1"), Kind::gather, Chip{})->cuts.empty());
    const Slice many = catalogue_slice("tpu-v5p", "16x20x28*111607");
    for (const CollectiveKind kind : {Kind::gather, Kind::broadcast}) {
        const auto load = rooted_load(many, kind, Chip{{0, 0, 0, 55555}});
        REQUIRE(!load->cuts.empty());
        for (const TransferCut& cut : load->cuts) {
            CHECK(!cut.bytes.overflowed());
            for (const Rational& links : cut.links) CHECK(!links.overflowed());
        }
    }
}

TEST_CASE("network: an array in fewer parts than there are chips") {
    const Slice v5e = catalogue_slice("tpu-v5e", "4x4");
    const auto parts = [&](CollectiveKind kind, std::string_view root, std::int64_t count) {
        return tightest_cut(*rooted_load(v5e, kind, chip(v5e, root), count));
    };
    // Four parts, each on four chips: the root has one of them, wherever the others are.
    CHECK(parts(Kind::gather, "0,0", 4) == Rational(3, 8));
    CHECK(parts(Kind::gather, "1,2", 4) == Rational(3, 16));
    // All four parts have to leave the root, since other chips want the one that it keeps as well.
    CHECK(parts(Kind::scatter, "0,0", 4) == Rational(1, 2));
    CHECK(parts(Kind::scatter, "1,2", 4) == Rational(1, 4));
    // In two parts half of the array has to come into a corner over two links, from the inside all of it out over four.
    CHECK(parts(Kind::scatter, "1,2", 2) == Rational(1, 4));
    CHECK(parts(Kind::scatter, "1,2", 1) == parts(Kind::broadcast, "1,2", 0));
    CHECK(parts(Kind::scatter, "1,2", 16) == parts(Kind::scatter, "1,2", 0));
}

TEST_CASE("network: the chip at coordinates of a mesh") {
    const auto at = [](const Slice& on, const std::vector<MeshAxis>& mesh,
                       const std::vector<std::int64_t>& coordinates) {
        return chip_text(chip_at(on, place_mesh(on, mesh).value(), coordinates));
    };
    CHECK(at(catalogue_slice("tpu-v5e", "4x4"), {{"X", 4}, {"Y", 4}}, {3, 1}) == "(3,1)");
    // X is placed on the axis of 8.
    CHECK(at(catalogue_slice("tpu-v5e", "4x8"), {{"X", 8}, {"Y", 4}}, {3, 1}) == "(1,3)");
    CHECK(at(catalogue_slice("tpu-v5e", "4x4"), {{"X", 16}}, {7}) == "(3,1)");  // the first axis of the torus is inside
    CHECK(at(catalogue_slice("h100-sxm", "8x16"), {{"X", 16}, {"Y", 8}}, {9, 2}) == "(2,9)");
    // Parts of one axis: X has neighbours, Y every second chip.
    CHECK(at(catalogue_slice("h100-sxm", "8"), {{"X", 2}, {"Y", 4}}, {1, 3}) == "(7)");
}
