#include "layout/reshard.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

System mesh_of_16() {
    auto slice = make_slice(find_machine("tpu-v5e").value(), "4x4");
    REQUIRE(slice.has_value());
    System system;
    system.slice = std::move(*slice);
    system.mesh = place_mesh(system.slice, {{"X", 4}, {"Y", 4}}).value();
    return system;
}

// Returns "all_gather XY 2048, ..." for a resharding written as a one-liner, with B = 65536 and D = 32 unless it says
// otherwise.
std::string moves(const std::string& text) {
    const System system = mesh_of_16();
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    program->sizes.emplace("B", 65536);
    program->sizes.emplace("D", 32);
    const Op& op = std::get<Statement>(program->body.nodes[0]).ops[0];
    const TensorType& from = program->values[op.inputs[0].value].type;
    const TensorType& to = program->values[op.output.value].type;
    ChoiceCosts costs(system);
    ReshardSearch search(costs);
    std::vector<double> sizes;
    for (const std::string& dim : op.inputs[0].dims) sizes.push_back(static_cast<double>(program->sizes.at(dim)));
    const double bits = from.dtype == Dtype::f32 ? 32 : from.dtype == Dtype::bf16 ? 16 : 8;
    const auto path =
        search.run({"A", bits / 8, sizes}, sharding_of(from, system).value(), sharding_of(to, system).value());
    if (!path) return path.error().code;
    std::string said;
    for (const Move& move : path->moves) {
        if (!said.empty()) said += ", ";
        said += std::string(collective_name(move.kind)) + " ";
        for (const std::string& axis : axis_names(system, move.axes)) said += axis;
        if (move.from != Sharding::everywhere) said += fmt::format("<{}", move.from);
        if (move.to != Sharding::everywhere) said += fmt::format(">{}", move.to);
        said += fmt::format(" {}", move.bytes);
    }
    return said;
}

}  // namespace

TEST_CASE("one collective where one is enough, with the bytes that nccl-tests count") {
    CHECK(moves("bf16[B, D] -> bf16[B, D]") == "");
    CHECK(moves("bf16[B, D] -> bf16[B_X, D_Y]") == "");  // each chip keeps its shard
    CHECK(moves("bf16[B_X, D] -> bf16[B, D]") == "all_gather X 4194304");
    CHECK(moves("bf16[B_X, D_Y] -> bf16[B, D_Y]") == "all_gather X 1048576");
    CHECK(moves("bf16[B_XY, D] -> bf16[B, D]") == "all_gather XY 4194304");
    CHECK(moves("bf16[B_X, D_Y] -> bf16[B, D]") == "all_gather XY 4194304");  // both axes together use all links
    CHECK(moves("f32[B, D]{U_X} -> f32[B, D]") == "all_reduce X 8388608");
    CHECK(moves("f32[B, D_Y]{U_X} -> f32[B_X, D_Y]") == "reduce_scatter X 2097152");
    CHECK(moves("int8[B_X, D] -> int8[B, D_X]") == "all_to_all X 2097152");
    CHECK(moves("int8[B_XY, D] -> int8[B_YX, D]") == "permute XY 2097152");
}

TEST_CASE("several collectives: the cheap ones first") {
    // The slice over Y is free and makes the all-gather over X four times smaller.
    CHECK(moves("bf16[B_X, D] -> bf16[B, D_Y]") == "all_gather X 1048576");
    // A scatter over both open axes at once loads a link with 15/32 of the array per direction; gathering a quarter of
    // it over one axis adds 3/4 of 1/4: 21/32. Completing the sums over both axes takes twice 15/32. An all-reduce over
    // the 4 x 4 grid takes 15/24 of V, a scatter followed by a gather of a quarter 15/32 + 3/16.
    CHECK(moves("bf16[B, D]{U_XY} -> bf16[B_X, D]") == "all_reduce XY 4194304");
    // The sums over Y are gathered together with the shards over X, over all links.
    CHECK(moves("bf16[B_X, D]{U_Y} -> bf16[B, D]") == "reduce_scatter Y 1048576, all_gather XY 4194304");
    // Both dimensions are split over the wrong axis: X moves to D, the axes of D change places, and Y moves to B.
    CHECK(moves("bf16[B_X, D_Y] -> bf16[B_Y, D_X]") ==
          "all_to_all X 1048576, permute YX 4194304, all_to_all Y 1048576");
}

TEST_CASE("a whole or split array becomes a partial sum at no cost") {
    CHECK(moves("bf16[B, D] -> bf16[B, D]{U_X}") == "");    // one member keeps it, the others hold zeros
    CHECK(moves("bf16[B_X, D] -> bf16[B, D]{U_X}") == "");  // each has zeros beside its shard
    CHECK(moves("bf16[B, D_YX] -> bf16[B, D_Y]{U_X}") == "");
    CHECK(moves("bf16[B, D]{U_X} -> bf16[B, D]{U_XY}") == "");
    CHECK(moves("bf16[B, D] -> bf16[B_Y, D]{U_X}") == "");  // and then a slice
    // Shards over X must be combined: each member of Y does so for a quarter, and has zeros for the others.
    CHECK(moves("bf16[B_X, D] -> bf16[B, D]{U_Y}") == "all_gather X 1048576");
    CHECK(moves("f32[B, D]{U_X} -> f32[B, D]{U_Y}") == "all_reduce X 2097152");
}

TEST_CASE("to one chip, from one chip, and from one chip to another") {
    CHECK(moves("bf16[B, D] at X=0 -> bf16[B, D] at X=3,Y=3") == "send <0>15 4194304");
    CHECK(moves("bf16[B, D] at Y=3 -> bf16[B, D] at X=0,Y=3") == "");
    CHECK(moves("bf16[B, D] at X=1,Y=2 -> bf16[B, D]") == "broadcast <6 4194304");
    CHECK(moves("bf16[B, D] at X=1,Y=2 -> bf16[B_Y, D_X]") == "scatter YX<6 4194304");
    CHECK(moves("bf16[B, D] -> bf16[B, D] at X=1") == "");  // it is already there
    CHECK(moves("bf16[B_X, D] -> bf16[B, D] at X=1") == "gather X>4 4194304");
    CHECK(moves("bf16[B_X, D_Y] -> bf16[B, D] at X=1") == "gather XY>4 4194304");
    // A sum is scattered over all links of the corners, then gathered: 15/32 and 5/16 of it cross a link.
    CHECK(moves("bf16[B, D]{U_XY} -> bf16[B, D] at X=1") == "all_reduce XY 4194304");  // 5/8 of V
    // At X=1,Y=0 a sum over all chips stays there; for a sum over X alone the chips of the other Y need it as well.
    CHECK(moves("bf16[B, D] at X=1 -> bf16[B, D]{U_XY}") == "");
    CHECK(moves("bf16[B, D] at X=1 -> bf16[B, D]{U_X}") == "broadcast <4 4194304");
}
