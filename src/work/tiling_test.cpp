#include "work/tiling.hpp"

#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

struct Kernel {
    Program program;
    ProgramWork work;

    explicit Kernel(std::string_view text) {
        auto parsed = parse_program(text);
        REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
        program = std::move(*parsed);
        auto derived = derive_work(program);
        REQUIRE(derived.has_value());
        work = std::move(*derived);
    }

    [[nodiscard]] std::optional<double> bytes(const Sizes& tile) const {
        return tile_bytes(program, work.kernels.front(), tile);
    }
    [[nodiscard]] Result<Sizes> best(double capacity) const {
        return best_tile(program, work.kernels.front(), capacity);
    }
};

constexpr std::string_view square = "bf16[B=1024, D=1024] * bf16[D, F=1024] -> bf16[B, F]";

}  // namespace

TEST_CASE("a tile holds a block of both inputs and of the sums, in the accumulator's dtype") {
    const Kernel matmul(square);
    // 2*128*64 + 2*64*256 + 4*128*256
    CHECK(matmul.bytes({{"B", 128}, {"D", 64}, {"F", 256}}) == 16384 + 32768 + 131072);
    CHECK(matmul.bytes({{"B", 4096}}) == matmul.bytes({}));  // a tile is not larger than its dimension
    CHECK(matmul.bytes({}) == 2.0 * 1048576 + 2.0 * 1048576 + 4.0 * 1048576);
    CHECK_FALSE(Kernel("bf16[B, D=8] * bf16[D, F=8] -> bf16[B, F]").bytes({}).has_value());
}

TEST_CASE("intermediates of elementwise functions need no memory, those of contractions do") {
    // X 2*8*16, W 2*16*32, the matmul's f32 block 4*8*32; relu's result is stored in bf16: 2*8*32.
    const Kernel fused("relu(bf16[B=8, D=16] * bf16[D, F=32]) -> bf16[B, F]");
    CHECK(fused.bytes({}) == 256 + 1024 + 1024 + 512);
    CHECK(Kernel("relu(exp(f32[B=8])) -> f32[B]").bytes({}) == 32 + 32);
}

TEST_CASE("the best tile of a square matmul is square, and uses the available memory") {
    const Kernel matmul(square);
    // 256 x 256 with sums of 128 at once: 2*(2*256*128) + 4*256*256 = 393,216 B. Each input is fetched 4 times; of the
    // tiles that fit, 512 x 64 fetches 2 + 16 times, 1024 x 16 fetches 1 + 64 times.
    CHECK(*matmul.best(393216) == Sizes{{"B", 256}, {"D", 128}, {"F", 256}});
    // With one byte less, half of it: 4 + 8 fetches in either orientation.
    const Sizes smaller = *matmul.best(393215);
    CHECK(smaller.at("B") * smaller.at("F") == 256 * 128);
    // If everything fits, each input is fetched once.
    const Sizes whole = *matmul.best(1e9);
    CHECK(whole.at("B") == 1024);
    CHECK(whole.at("F") == 1024);
}

TEST_CASE("the smallest tile is 8 x 8 with a sum of 128") {
    const Kernel matmul(square);
    // 2*8*128 + 2*128*8 + 4*8*8
    CHECK(*matmul.best(4352) == Sizes{{"B", 8}, {"D", 128}, {"F", 8}});
    CHECK(matmul.best(4351).error().code == "no_fit");
}

TEST_CASE("batch dimensions are tiled one by one, small ones are whole, and sizes are needed") {
    const Sizes batched = *Kernel("bf16[B=64, T=100, D=50] * bf16[B, D, F=7] -> bf16[B, T, F]").best(1e9);
    CHECK(batched == Sizes{{"B", 1}, {"D", 50}, {"F", 7}, {"T", 100}});
    CHECK(Kernel("bf16[B, D=8] * bf16[D, F=8] -> bf16[B, F]").best(1e9).error().code == "unsized");
}
