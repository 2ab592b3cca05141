#include "measure/run/register_tile.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "measure/run/multiversioning.hpp"

namespace roofline::core {

namespace {

/// Prefetches the data that is read next, two cache lines per iteration; no loop below reads more of b per iteration.
class Fetching {
public:
    ROOFLINE_INLINE explicit Fetching(const Ahead& ahead)
        : at_(static_cast<const char*>(ahead.at)), step_(ahead.step), half_(ahead.step / 2) {}
    ROOFLINE_INLINE void turn() {
        __builtin_prefetch(at_, 0, 2);
        __builtin_prefetch(at_ + half_, 0, 2);
        at_ += step_;
    }

private:
    const char* at_;
    std::int64_t step_;
    std::int64_t half_;
};

/// A row of sums takes `Parts` vectors of `Bytes`: as many as leave registers for b and a. More would spill to memory.
template <std::size_t Rows, std::size_t Bytes, std::size_t Parts, class T>
ROOFLINE_INLINE void rows_product(const T* a, const T* b, T* c, std::int64_t stride, std::int64_t depth,
                                  const Ahead& ahead) {
    typedef T Vector __attribute__((vector_size(Bytes)));
    constexpr auto lanes = static_cast<std::int64_t>(Bytes / sizeof(T));
    constexpr auto width = static_cast<std::int64_t>(Parts) * lanes;
    Vector sums[Rows][Parts] = {};
    Fetching fetching(ahead);
#pragma GCC unroll 2
    for (std::int64_t k = 0; k < depth; ++k) {
        fetching.turn();
        Vector column[Parts];
#pragma GCC unroll 4
        for (std::size_t part = 0; part < Parts; ++part) {
            std::memcpy(&column[part], b + k * width + static_cast<std::int64_t>(part) * lanes, sizeof column[part]);
        }
        const T* row = a + k * static_cast<std::int64_t>(Rows);
#pragma GCC unroll 12
        for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
            for (std::size_t part = 0; part < Parts; ++part) sums[i][part] += row[i] * column[part];
        }
    }
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (std::size_t part = 0; part < Parts; ++part) {
            T* to = c + static_cast<std::int64_t>(i) * stride + static_cast<std::int64_t>(part) * lanes;
            Vector old;
            std::memcpy(&old, to, sizeof old);
            old += sums[i][part];
            std::memcpy(to, &old, sizeof old);
        }
    }
}

/// The functions that `Make` makes for one row, two rows, and so on.
template <template <std::size_t> class Make, class Multiply, std::size_t... Rows>
std::span<const Multiply> table(std::index_sequence<Rows...>) {
    static const std::array<Multiply, sizeof...(Rows)> functions{&Make<Rows + 1>::multiply...};
    return functions;
}

template <template <std::size_t> class Make, std::size_t Rows, class Tile>
Tile tile(const char* instructions, std::int64_t width, std::int64_t lift = 0) {
    return {instructions, table<Make, typename Tile::Multiply>(std::make_index_sequence<Rows>{}), width, lift};
}

/// Integers wrap around, so they are multiplied as unsigned integers.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, std::int32_t>, std::uint32_t, T>;

#define ROOFLINE_ROWS(TARGET, BYTES, PARTS)                                                            \
    TARGET static void multiply(const T* a, const T* b, T* c, std::int64_t stride, std::int64_t depth, \
                                const Ahead& ahead) {                                                  \
        using U = Arithmetic<T>;                                                                       \
        rows_product<Rows, BYTES, PARTS>(reinterpret_cast<const U*>(a), reinterpret_cast<const U*>(b), \
                                         reinterpret_cast<U*>(c), stride, depth, ahead);               \
    }

#ifdef __x86_64__
constexpr std::size_t plain_parts = 2;  // with 16 registers
#else
constexpr std::size_t plain_parts = 4;  // with 32 registers
#endif

template <class T>
struct OfType {
    template <std::size_t Rows>
    struct Plain {
        ROOFLINE_ROWS(, 16, plain_parts)
    };
#ifdef __x86_64__
    template <std::size_t Rows>
    struct Avx2 {
        ROOFLINE_ROWS(__attribute__((target("avx2,fma"))), 32, 2)
    };
    template <std::size_t Rows>
    struct Avx512 {
        ROOFLINE_ROWS(__attribute__((target("avx512f,avx2,fma"))), 64, 2)
    };
#endif

    static std::vector<RegisterTile<T, T, T>> tiles() {
        using Tile = RegisterTile<T, T, T>;
        constexpr auto in = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes / sizeof(T)); };
        std::vector<Tile> tiles;
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx512f") != 0) tiles.push_back(tile<Avx512, 12, Tile>("AVX-512", in(128)));
        if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
            tiles.push_back(tile<Avx2, 6, Tile>("AVX2", in(64)));
#endif
        tiles.push_back(tile<Plain, 6, Tile>("", in(16 * plain_parts)));
        return tiles;
    }
};

#ifdef __x86_64__
/// One instruction multiplies and adds pairs of 16-bit numbers. A pair's sum is at most 2 * 127 * 127, far below 2^31,
/// and nothing saturates.
template <std::size_t Rows>
struct Pairs {
    __attribute__((target("avx2"))) static void multiply(const std::int16_t* a, const std::int8_t* b, std::int32_t* c,
                                                         std::int64_t stride, std::int64_t depth, const Ahead& ahead) {
        __m256i sums[Rows][2];
#pragma GCC unroll 6
        for (std::size_t i = 0; i < Rows; ++i) sums[i][0] = sums[i][1] = _mm256_setzero_si256();
        Fetching fetching(ahead);
        for (std::int64_t k = 0; k < depth; k += 2) {
            fetching.turn();
            const auto* column = reinterpret_cast<const __m128i*>(b + k * 16);
            const __m256i left = _mm256_cvtepi8_epi16(_mm_loadu_si128(column));
            const __m256i right = _mm256_cvtepi8_epi16(_mm_loadu_si128(column + 1));
#pragma GCC unroll 6
            for (std::size_t i = 0; i < Rows; ++i) {
                std::int32_t pair = 0;
                std::memcpy(&pair, a + k * static_cast<std::int64_t>(Rows) + static_cast<std::int64_t>(i) * 2,
                            sizeof pair);
                const __m256i row = _mm256_set1_epi32(pair);
                sums[i][0] = _mm256_add_epi32(sums[i][0], _mm256_madd_epi16(row, left));
                sums[i][1] = _mm256_add_epi32(sums[i][1], _mm256_madd_epi16(row, right));
            }
        }
#pragma GCC unroll 6
        for (std::size_t i = 0; i < Rows; ++i) {
            for (std::int64_t half = 0; half < 2; ++half) {
                auto* to = reinterpret_cast<__m256i*>(c + static_cast<std::int64_t>(i) * stride + half * 8);
                _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), sums[i][half]));
            }
        }
    }
};

/// One instruction adds four products of 8-bit numbers (the first factor unsigned) to a 32-bit sum without saturating.
template <std::size_t Rows>
struct Quads {
    __attribute__((target("avx512f,avx512bw,avx512vnni"))) static void multiply(const std::uint8_t* a,
                                                                                const std::int8_t* b, std::int32_t* c,
                                                                                std::int64_t stride, std::int64_t depth,
                                                                                const Ahead& ahead) {
        __m512i sums[Rows][2];
#pragma GCC unroll 12
        for (std::size_t i = 0; i < Rows; ++i) sums[i][0] = sums[i][1] = _mm512_setzero_si512();
        Fetching fetching(ahead);
        for (std::int64_t k = 0; k < depth; k += 4) {
            fetching.turn();
            const __m512i left = _mm512_loadu_si512(b + k * 32);
            const __m512i right = _mm512_loadu_si512(b + k * 32 + 64);
#pragma GCC unroll 12
            for (std::size_t i = 0; i < Rows; ++i) {
                std::int32_t four = 0;
                std::memcpy(&four, a + k * static_cast<std::int64_t>(Rows) + static_cast<std::int64_t>(i) * 4,
                            sizeof four);
                const __m512i row = _mm512_set1_epi32(four);
                // written in assembly because compilers copy every sum back and forth when the intrinsic is used
                asm("vpdpbusd %2, %1, %0" : "+v"(sums[i][0]) : "v"(row), "v"(left));
                asm("vpdpbusd %2, %1, %0" : "+v"(sums[i][1]) : "v"(row), "v"(right));
            }
        }
        const __m512i lifts[2] = {_mm512_loadu_si512(b + depth * 32), _mm512_loadu_si512(b + depth * 32 + 64)};
#pragma GCC unroll 12
        for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
                std::int32_t* to = c + static_cast<std::int64_t>(i) * stride + static_cast<std::int64_t>(half) * 16;
                const __m512i old = _mm512_add_epi32(_mm512_loadu_si512(to), lifts[half]);
                _mm512_storeu_si512(to, _mm512_add_epi32(old, sums[i][half]));
            }
        }
    }
};
#endif

}  // namespace

std::vector<F32Tile> f32_tiles() { return OfType<float>::tiles(); }
std::vector<F64Tile> f64_tiles() { return OfType<double>::tiles(); }
std::vector<Int32Tile> int32_tiles() { return OfType<std::int32_t>::tiles(); }

std::vector<PairTile> pair_tiles() {
    std::vector<PairTile> tiles;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") != 0) tiles.push_back(tile<Pairs, 6, PairTile>("AVX2", 16));
#endif
    return tiles;
}

std::vector<QuadTile> quad_tiles() {
    std::vector<QuadTile> tiles;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512bw") != 0)
        tiles.push_back(tile<Quads, 12, QuadTile>("AVX-512 with VNNI", 32, 128));
#endif
    return tiles;
}

}  // namespace roofline::core
