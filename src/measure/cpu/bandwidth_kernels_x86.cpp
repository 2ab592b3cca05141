// Moves memory with AVX2 and AVX-512 registers.
#include "measure/cpu/bandwidth_kernels.hpp"

namespace roofline::core {

#if defined(__x86_64__)

namespace {

// Each iteration uses eight registers. The index runs from negative up to zero, relative to the ends of the arrays, so
// one instruction counts and compares.
#define EIGHT(op, width) \
    op(0, width) op(1, width) op(2, width) op(3, width) op(4, width) op(5, width) op(6, width) op(7, width)

#define LOOP(width, before, body, after)                                                                           \
    asm volatile(before                                                                                            \
                 ".p2align 5\n\t"                                                                                  \
                 "1:\n\t" body "add $8*" #width                                                                    \
                 ", %[at]\n\t"                                                                                     \
                 "js 1b\n\t" after "vzeroupper\n\t"                                                                \
                 : [at] "+r"(at)                                                                                   \
                 : [a] "r"(a + bytes), [b] "r"(b + bytes), [c] "r"(c + bytes), [half] "r"(&half), [out] "r"(out)   \
                 : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

#define XOR_Y(i, w) "vpxor " #i "*" #w "(%[a],%[at]), %%ymm" #i ", %%ymm" #i "\n\t"
#define XOR_Z(i, w) "vpxorq " #i "*" #w "(%[a],%[at]), %%zmm" #i ", %%zmm" #i "\n\t"
#define CLEAR(i, w) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n\t"
#define FOLD_Y(i, w) "vpxor %%ymm" #i ", %%ymm8, %%ymm8\n\t"
#define FOLD_Z(i, w) "vpxorq %%zmm" #i ", %%zmm8, %%zmm8\n\t"
#define WRITE_Y(i, w) "vmovaps %%ymm15, " #i "*" #w "(%[a],%[at])\n\t"
#define WRITE_Z(i, w) "vmovaps %%zmm15, " #i "*" #w "(%[a],%[at])\n\t"
#define PAST_Y(i, w) "vmovntps %%ymm15, " #i "*" #w "(%[a],%[at])\n\t"
#define PAST_Z(i, w) "vmovntps %%zmm15, " #i "*" #w "(%[a],%[at])\n\t"
#define GET_Y(i, w) "vmovaps " #i "*" #w "(%[b],%[at]), %%ymm" #i "\n\t"
#define GET_Z(i, w) "vmovaps " #i "*" #w "(%[b],%[at]), %%zmm" #i "\n\t"
#define PUT_Y(i, w) "vmovaps %%ymm" #i ", " #i "*" #w "(%[a],%[at])\n\t"
#define PUT_Z(i, w) "vmovaps %%zmm" #i ", " #i "*" #w "(%[a],%[at])\n\t"
#define PUT_PAST_Y(i, w) "vmovntps %%ymm" #i ", " #i "*" #w "(%[a],%[at])\n\t"
#define PUT_PAST_Z(i, w) "vmovntps %%zmm" #i ", " #i "*" #w "(%[a],%[at])\n\t"
#define GET_C_Y(i, w) "vmovaps " #i "*" #w "(%[c],%[at]), %%ymm" #i "\n\t"
#define GET_C_Z(i, w) "vmovaps " #i "*" #w "(%[c],%[at]), %%zmm" #i "\n\t"
#define FMA_Y(i, w) "vfmadd213pd " #i "*" #w "(%[b],%[at]), %%ymm15, %%ymm" #i "\n\t"
#define FMA_Z(i, w) "vfmadd213pd " #i "*" #w "(%[b],%[at]), %%zmm15, %%zmm" #i "\n\t"
#define SPREAD_Y "vbroadcastsd (%[half]), %%ymm15\n\t"
#define SPREAD_Z "vbroadcastsd (%[half]), %%zmm15\n\t"

// `half` is the constant that is broadcast to a register: the factor of triad, or the value to write.
#define PASS(function, constant, width, before, body, after)                                  \
    std::uint64_t function(char* a, const char* b, const char* c, std::size_t bytes) {        \
        if (b == nullptr) b = a;                                                              \
        if (c == nullptr) c = a;                                                              \
        const double half = constant;                                                         \
        alignas(64) std::uint64_t sums[8] = {};                                               \
        std::uint64_t* const out = sums;                                                      \
        auto at = -static_cast<std::int64_t>(bytes);                                          \
        LOOP(width, before, body, after);                                                     \
        return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7]; \
    }

#define CLEAR_ALL EIGHT(CLEAR, 0) CLEAR(8, 0)
// non-temporal stores are not ordered with others until a fence
PASS(avx2_read, 0, 32, CLEAR_ALL, EIGHT(XOR_Y, 32), EIGHT(FOLD_Y, 32) "vmovaps %%ymm8, (%[out])\n\t")
PASS(avx2_write, 1.0, 32, SPREAD_Y, EIGHT(WRITE_Y, 32), "")
PASS(avx2_write_nt, 1.0, 32, SPREAD_Y, EIGHT(PAST_Y, 32), "sfence\n\t")
PASS(avx2_copy, 0, 32, "", EIGHT(GET_Y, 32) EIGHT(PUT_Y, 32), "")
PASS(avx2_copy_nt, 0, 32, "", EIGHT(GET_Y, 32) EIGHT(PUT_PAST_Y, 32), "sfence\n\t")
PASS(avx2_triad, 0.5, 32, SPREAD_Y, EIGHT(GET_C_Y, 32) EIGHT(FMA_Y, 32) EIGHT(PUT_Y, 32), "")
PASS(avx512_read, 0, 64, CLEAR_ALL, EIGHT(XOR_Z, 64), EIGHT(FOLD_Z, 64) "vmovaps %%zmm8, (%[out])\n\t")
PASS(avx512_write, 1.0, 64, SPREAD_Z, EIGHT(WRITE_Z, 64), "")
PASS(avx512_write_nt, 1.0, 64, SPREAD_Z, EIGHT(PAST_Z, 64), "sfence\n\t")
PASS(avx512_copy, 0, 64, "", EIGHT(GET_Z, 64) EIGHT(PUT_Z, 64), "")
PASS(avx512_copy_nt, 0, 64, "", EIGHT(GET_Z, 64) EIGHT(PUT_PAST_Z, 64), "sfence\n\t")
PASS(avx512_triad, 0.5, 64, SPREAD_Z, EIGHT(GET_C_Z, 64) EIGHT(FMA_Z, 64) EIGHT(PUT_Z, 64), "")

}  // namespace

BandwidthPasses avx2_passes() { return {avx2_read, avx2_write, avx2_write_nt, avx2_copy, avx2_copy_nt, avx2_triad}; }
BandwidthPasses avx512_passes() {
    return {avx512_read, avx512_write, avx512_write_nt, avx512_copy, avx512_copy_nt, avx512_triad};
}

#else

BandwidthPasses avx2_passes() { return {}; }
BandwidthPasses avx512_passes() { return {}; }

#endif

}  // namespace roofline::core
