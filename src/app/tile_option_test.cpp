#include "app/tile_option.hpp"

#include <doctest/doctest.h>

#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

// HBM, 1 MiB of L2, and 393,216 B of SMEM, which hold a 256 x 256 tile with partial sums over 128.
Machine tiled_toy() {
    Machine machine;
    machine.name = "Toy";
    for (const auto& [id, capacity] : {std::pair{"hbm", 16e9}, {"l2", 1048576.0}, {"smem", 393216.0}}) {
        MemoryLevel level;
        level.id = id;
        level.label = id;
        level.capacity.value = Bytes{capacity};
        machine.memory.push_back(level);
    }
    return machine;
}

Program parsed(std::string_view text) {
    const auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    return *program;
}

const std::string square = "bf16[B=1024, D=1024] * bf16[D, F=1024] -> bf16[B, F]";

Result<std::vector<Tile>> resolve_tiles(const Program& program, const Machine& machine, bool exact_flops,
                                        const std::vector<std::string>& options, std::vector<std::string>& notes) {
    const auto choices = tile_choices(options);
    if (!choices) return fail(choices.error());
    return choose_tiles(program, machine, exact_flops, *choices, notes);
}

Result<std::vector<Tile>> tiles(const std::vector<std::string>& options, const std::string& program = square) {
    std::vector<std::string> notes;
    auto made = resolve_tiles(parsed(program), tiled_toy(), false, options, notes);
    if (made) CHECK(notes.size() == options.size());
    return made;
}

std::string code_of(const std::string& option, const std::string& program = square) {
    const auto made = tiles({option}, program);
    return made ? "" : made.error().code;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a tile is held next to main memory, or where it says, and what crosses is the level outside") {
    const auto both = tiles({"B=128,F=64", "smem:B=32,F=16"});
    REQUIRE(both.has_value());
    CHECK((*both)[0].crosses == "hbm");
    CHECK((*both)[0].placed_at == Names{"hbm", "host"});
    CHECK((*both)[0].sizes == Sizes{{"B", 128}, {"F", 64}});
    CHECK((*both)[1].crosses == "l2");
    CHECK((*both)[1].sizes == Sizes{{"B", 32}, {"F", 16}});
    CHECK((*both)[1].placed_at == Names{"hbm", "l2", "host"});
    CHECK(tiles({})->empty());
}

TEST_CASE("a tile as large as its dimension cuts nothing") {
    const auto tile = tiles({"B=2048,F=64,D=1024"}, "bf16[B=1024, D=1024] * bf16[D, F=128] -> bf16[B, F]");
    CHECK(tile.error().code == "no_fit");  // B and D are not tiled: the left operand takes 2 MiB
    CHECK((*tiles({"B=64,F=64,D=4k"}))[0].sizes == Sizes{{"B", 64}, {"F", 64}});
}

TEST_CASE("the best tile is searched for in the room of its level") {
    // As in the tests of the search: a 256 x 256 tile with partial sums over 128 takes exactly the 393,216 B of SMEM.
    CHECK((*tiles({"smem:best"}))[0].sizes == Sizes{{"B", 256}, {"D", 128}, {"F", 256}});
    CHECK(code_of("best", "X : bf16[B=8]; Y = relu(X); Z = relu(Y)") == "unsupported");
    CHECK(code_of("best", "bf16[B, D=8] * bf16[D, F=8] -> bf16[B, F]") == "unsized");
}

TEST_CASE("each kind of mistake has its own error") {
    CHECK(code_of("vmem:B=8") == "unknown_level");
    CHECK(code_of("hbm:B=8") == "unknown_level");  // a tile is a part of what main memory holds
    CHECK(code_of("G=8") == "unknown_dimension");
    CHECK(code_of("B=0") == "size");
    CHECK(code_of("smem:B=512,F=512,D=128") == "no_fit");  // 1 MiB of accumulators
    std::vector<std::string> notes;
    Machine bare = tiled_toy();
    bare.memory.resize(1);
    CHECK(resolve_tiles(parsed(square), bare, false, {"B=8"}, notes).error().code == "unknown_level");
    CHECK(notes.empty());
}

TEST_CASE("on a GPU a tile is that of a thread block, and L2 serves the blocks that run side by side") {
    const Machine h100 = *find_machine("h100-sxm5");
    const Program product = parsed("bf16[M=4096, K=8192] * bf16[K, N=8192] -> bf16[M, N]");
    std::vector<std::string> notes;
    const auto made = resolve_tiles(product, h100, false, {"M=128,N=128"}, notes);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    REQUIRE(made->size() == 2);
    CHECK((*made)[0].crosses == "l2");
    CHECK((*made)[0].sizes == Sizes{{"M", 128}, {"N", 128}});
    // 128 of the 132 SMs form 8 x 16 blocks over 1024 of M and 2048 of N. They fetch A (67 MB) 4 times and B (134 MB) 4
    // times. 16 x 8 blocks fetch A 8 times and B 2 times, which is the same; 4 x 32 blocks fetch A 2 times and B 8
    // times.
    CHECK((*made)[1].crosses == "hbm");
    CHECK((*made)[1].sizes.at("M") * (*made)[1].sizes.at("N") == 128 * 128 * 128);
    CHECK(std::min((*made)[1].sizes.at("M"), (*made)[1].sizes.at("N")) == 1024);
    // 128 x 128 accumulators of 4 bytes; K is read in steps of 128.
    CHECK(notes.front().find("65.5 kB of 256 KiB") != std::string::npos);
    CHECK(notes.front().find("by 128 of K in L1/SMEM (65.5 kB of 227 KiB)") != std::string::npos);
    // The 50 MiB of L2 hold the whole smaller operand here, so everything is fetched once.
    notes.clear();
    const Program narrow = parsed("bf16[M=65536, K=4096] * bf16[K, N=4096] -> bf16[M, N]");
    CHECK(resolve_tiles(narrow, h100, false, {"M=128,N=128"}, notes)->back().sizes.empty());
    // 256 x 256 accumulators of 4 bytes take all registers; two operands of 4096 x 16 x 2 bytes exceed 227 KiB.
    CHECK(resolve_tiles(product, h100, false, {"M=256,N=256"}, notes).error().code == "no_fit");
    CHECK(resolve_tiles(product, h100, false, {"M=8,N=8192"}, notes).error().code == "no_fit");
    // A note states where the tile is held.
    notes.clear();
    CHECK(resolve_tiles(product, h100, false, {"l2:M=1024,N=1024"}, notes)->front().crosses == "hbm");
    CHECK(notes.front().find("held in L2") != std::string::npos);
}
