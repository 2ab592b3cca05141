// Peaks of Intel's tile unit (AMX). Tiles have 16 rows of 64 bytes; four accumulate, one holds A and one B.
#include <array>
#include <cstring>

#include "measure/cpu/peak_kernels.hpp"

namespace roofline::core {

#if defined(__x86_64__)

namespace {

constexpr std::size_t tiles = 4;
constexpr std::size_t tile_rows = 16;
constexpr std::size_t tile_row_bytes = 64;
constexpr std::size_t tile_bytes = tile_rows * tile_row_bytes;
constexpr double products_per_tile = 16 * 16;  // dot products of 64 bytes each

/// The operand of ldtilecfg (Intel SDM vol. 1, 18.4): palette 1, then bytes per row and number of rows of each tile.
struct TileShapes {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::array<std::uint8_t, 14> reserved{};
    std::array<std::uint16_t, 16> row_bytes{};
    std::array<std::uint8_t, 16> rows{};
};
static_assert(sizeof(TileShapes) == 64);

TileShapes all_full() {
    TileShapes shapes;
    for (std::size_t i = 0; i < 8; ++i) {
        shapes.row_bytes[i] = tile_row_bytes;
        shapes.rows[i] = tile_rows;
    }
    return shapes;
}

#define ROOFLINE_TILE_KERNEL(function, instruction)                                                                  \
    void function(char* accumulators, const char* operands, std::int64_t passes) {                                   \
        const TileShapes shapes = all_full();                                                                        \
        const std::int64_t stride = tile_row_bytes;                                                                  \
        asm volatile(                                                                                                \
            "ldtilecfg (%[shapes])\n\t"                                                                              \
            "tileloadd (%[acc],%[stride],1), %%tmm0\n\t"                                                             \
            "tileloadd 1024(%[acc],%[stride],1), %%tmm1\n\t"                                                         \
            "tileloadd 2048(%[acc],%[stride],1), %%tmm2\n\t"                                                         \
            "tileloadd 3072(%[acc],%[stride],1), %%tmm3\n\t"                                                         \
            "tileloadd (%[operands],%[stride],1), %%tmm4\n\t"                                                        \
            "tileloadd 1024(%[operands],%[stride],1), %%tmm5\n\t"                                                    \
            "1:\n\t" instruction " %%tmm5, %%tmm4, %%tmm0\n\t" instruction " %%tmm5, %%tmm4, %%tmm1\n\t" instruction \
            " %%tmm5, %%tmm4, %%tmm2\n\t" instruction                                                                \
            " %%tmm5, %%tmm4, %%tmm3\n\t"                                                                            \
            "dec %[passes]\n\t"                                                                                      \
            "jnz 1b\n\t"                                                                                             \
            "tilestored %%tmm0, (%[acc],%[stride],1)\n\t"                                                            \
            "tilestored %%tmm1, 1024(%[acc],%[stride],1)\n\t"                                                        \
            "tilestored %%tmm2, 2048(%[acc],%[stride],1)\n\t"                                                        \
            "tilestored %%tmm3, 3072(%[acc],%[stride],1)\n\t"                                                        \
            "tilerelease\n\t"                                                                                        \
            : [passes] "+r"(passes)                                                                                  \
            : [acc] "r"(accumulators), [operands] "r"(operands), [shapes] "r"(&shapes), [stride] "r"(stride)         \
            : "cc", "memory");                                                                                       \
    }

ROOFLINE_TILE_KERNEL(tiles_bf16, "tdpbf16ps")
ROOFLINE_TILE_KERNEL(tiles_u8s8, "tdpbusd")

#undef ROOFLINE_TILE_KERNEL

PeakKernel tile_kernel(Dtype dtype, CpuFeature needs, RegisterLane accumulator, double products) {
    PeakKernel kernel;
    kernel.id = "tiles_" + std::string(name(dtype)) + "_amx";
    kernel.title = "tile product";
    kernel.needs = needs;
    kernel.unit = Unit::matmul;
    kernel.dtype = dtype;
    kernel.register_bytes = tile_bytes;
    kernel.accumulator = accumulator;
    kernel.instructions_per_pass = tiles;
    kernel.ops_per_pass = tiles * products_per_tile * products * 2;
    return kernel;
}

}  // namespace

void add_amx_kernels(std::vector<PeakKernel>& kernels) {
    PeakKernel bf16 = tile_kernel(Dtype::bf16, CpuFeature::amx_bf16, RegisterLane::f32, 32);
    bf16.instructions = "tdpbf16ps";
    bf16.operands = {{RegisterLane::bf16, 1.5}, {RegisterLane::bf16, 1.25 / 4096}};
    bf16.steps.assign(tiles, 32 * 1.5 * 1.25 / 4096);
    bf16.run = tiles_bf16;
    kernels.push_back(bf16);
    PeakKernel int8 = tile_kernel(Dtype::int8, CpuFeature::amx_int8, RegisterLane::s32, 64);
    int8.instructions = "tdpbusd";
    int8.operands = {{RegisterLane::u8, 3}, {RegisterLane::s8, 5}};
    int8.steps.assign(tiles, 64 * 3 * 5);
    int8.run = tiles_u8s8;
    kernels.push_back(int8);
}

#else

void add_amx_kernels(std::vector<PeakKernel>&) {}

#endif

}  // namespace roofline::core
