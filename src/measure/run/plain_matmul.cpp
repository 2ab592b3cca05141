// Matrix products without a library: blocks that fit the caches, panels of 16 columns, 6 rows at a time in registers.
#include <algorithm>
#include <cstring>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "measure/run/clones.hpp"
#include "measure/run/cpu_kernels.hpp"
#include "measure/run/elements.hpp"
#include "measure/run/step_builder.hpp"

namespace roofline {

namespace {

constexpr std::int64_t rows_at_once = 6;
constexpr std::int64_t depth_block = 256;
constexpr std::int64_t row_block = 192;      // a multiple of rows_at_once
constexpr std::int64_t column_block = 1024;  // a multiple of every panel's width

/// Columns of a panel: 64 bytes of sums.
template <class Sum>
constexpr std::int64_t width = static_cast<std::int64_t>(64 / sizeof(Sum));

/// c += a b for a block of `Rows` rows of sums: a is depth x 6, b depth x width, c rows `stride` apart. In vectors of `Bytes`, those
/// that the processor has: larger ones would go through memory.
template <std::size_t Rows, std::size_t Bytes, class T>
ROOFLINE_INLINE void rows_product(const T* a, const T* b, T* c, std::int64_t stride, std::int64_t depth) {
    typedef T Vector __attribute__((vector_size(Bytes)));
    constexpr std::size_t parts = 64 / Bytes;
    constexpr auto lanes = static_cast<std::int64_t>(Bytes / sizeof(T));
    Vector sums[Rows][parts] = {};
    for (std::int64_t k = 0; k < depth; ++k) {
        Vector column[parts];
#pragma GCC unroll 4
        for (std::size_t part = 0; part < parts; ++part) {
            std::memcpy(&column[part], b + k * width<T> + static_cast<std::int64_t>(part) * lanes, sizeof column[part]);
        }
        const T* row = a + k * rows_at_once;
#pragma GCC unroll 6
        for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
            for (std::size_t part = 0; part < parts; ++part) sums[i][part] += row[i] * column[part];
        }
    }
#pragma GCC unroll 6
    for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
        for (std::size_t part = 0; part < parts; ++part) {
            T* to = c + static_cast<std::int64_t>(i) * stride + static_cast<std::int64_t>(part) * lanes;
            Vector old;
            std::memcpy(&old, to, sizeof old);
            old += sums[i][part];
            std::memcpy(to, &old, sizeof old);
        }
    }
}

template <std::size_t Bytes, class T>
ROOFLINE_INLINE void block_product(std::int64_t rows, const T* a, const T* b, T* c, std::int64_t stride,
                                   std::int64_t depth) {
    if (rows == 1) return rows_product<1, Bytes>(a, b, c, stride, depth);
    if (rows == 2) return rows_product<2, Bytes>(a, b, c, stride, depth);
    if (rows <= 4) return rows_product<4, Bytes>(a, b, c, stride, depth);
    rows_product<6, Bytes>(a, b, c, stride, depth);
}

#ifdef __x86_64__
template <class T>
__attribute__((target("avx512f,avx2,fma"))) void multiply_64(std::int64_t rows, const T* a, const T* b, T* c,
                                                             std::int64_t stride, std::int64_t depth) {
    block_product<64>(rows, a, b, c, stride, depth);
}

template <class T>
__attribute__((target("avx2,fma"))) void multiply_32(std::int64_t rows, const T* a, const T* b, T* c,
                                                     std::int64_t stride, std::int64_t depth) {
    block_product<32>(rows, a, b, c, stride, depth);
}
#endif

template <class T>
void multiply(std::int64_t rows, const T* a, const T* b, T* c, std::int64_t stride, std::int64_t depth) {
#ifdef __x86_64__
    static const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
    static const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    if (avx512) return multiply_64(rows, a, b, c, stride, depth);
    if (avx2) return multiply_32(rows, a, b, c, stride, depth);
#endif
    block_product<16>(rows, a, b, c, stride, depth);
}

// Unsigned: whole numbers wrap around.
void multiply(std::int64_t rows, const std::int32_t* a, const std::int32_t* b, std::int32_t* c, std::int64_t stride,
              std::int64_t depth) {
    multiply(rows, reinterpret_cast<const std::uint32_t*>(a), reinterpret_cast<const std::uint32_t*>(b),
             reinterpret_cast<std::uint32_t*>(c), stride, depth);
}

#ifdef __x86_64__
/// Pairs of 16-bit numbers multiplied and added in one instruction: a is depth/2 x 6 pairs, b depth/2 x 16 pairs of 8 bits. A pair's
/// sum is at most 2 * 127 * 127, far from where 32 bits end, and nothing saturates.
template <std::size_t Rows>
__attribute__((target("avx2"), always_inline)) inline void pairs_product(const std::int16_t* a, const std::int8_t* b,
                                                                         std::int32_t* c, std::int64_t stride,
                                                                         std::int64_t depth) {
    __m256i sums[Rows][2];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < Rows; ++i) sums[i][0] = sums[i][1] = _mm256_setzero_si256();
    for (std::int64_t k = 0; k < depth; k += 2) {
        const auto* column = reinterpret_cast<const __m128i*>(b + k * 16);
        const __m256i left = _mm256_cvtepi8_epi16(_mm_loadu_si128(column));
        const __m256i right = _mm256_cvtepi8_epi16(_mm_loadu_si128(column + 1));
#pragma GCC unroll 6
        for (std::size_t i = 0; i < Rows; ++i) {
            std::int32_t pair = 0;
            std::memcpy(&pair, a + k * rows_at_once + static_cast<std::int64_t>(i) * 2, sizeof pair);
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

__attribute__((target("avx2"))) void multiply_pairs(std::int64_t rows, const std::int16_t* a, const std::int8_t* b,
                                                    std::int32_t* c, std::int64_t stride, std::int64_t depth) {
    if (rows == 1) return pairs_product<1>(a, b, c, stride, depth);
    if (rows == 2) return pairs_product<2>(a, b, c, stride, depth);
    if (rows <= 4) return pairs_product<4>(a, b, c, stride, depth);
    pairs_product<6>(a, b, c, stride, depth);
}

bool has_pairs() { return __builtin_cpu_supports("avx2") != 0; }
#else
void multiply_pairs(std::int64_t, const std::int16_t*, const std::int8_t*, std::int32_t*, std::int64_t, std::int64_t) {}

bool has_pairs() { return false; }
#endif

void multiply(std::int64_t rows, const std::int16_t* a, const std::int8_t* b, std::int32_t* c, std::int64_t stride,
              std::int64_t depth) {
    multiply_pairs(rows, a, b, c, stride, depth);
}

/// The blocks one thread works with.
template <class Sum, class A, class B>
struct Blocks {
    std::vector<A> a = std::vector<A>(static_cast<std::size_t>(row_block * depth_block));
    std::vector<B> b = std::vector<B>(static_cast<std::size_t>(depth_block * width<Sum>));
    std::vector<Sum> line = std::vector<Sum>(static_cast<std::size_t>(std::max(depth_block, column_block)));
    std::vector<Sum> c;  ///< rows of the block, each column_block wide
};

/// What is multiplied lies in groups along k: `Group` numbers of one column (of one row, in a) beside each other.
template <class Sum, class A, class B, std::int64_t Group>
class PlainMatmul : public StepKernel {
public:
    PlainMatmul(const MatmulStep& step, Team& team) : step_(step), team_(team) {
        panels_ = (step.n - 1) / width<Sum> + 1;
        depth_ = (step.k - 1) / Group * Group + Group;
        blocks_.resize(static_cast<std::size_t>(team.threads()));
    }

    [[nodiscard]] std::size_t packed_bytes() const override {
        if (!step_.weight) return 0;
        return static_cast<std::size_t>(panels_ * depth_ * width<Sum>) * element_bytes(step_.b);
    }

    // Panel by panel without gaps; columns beyond the last are 0.
    Status pack(const void* from, void* to) override {
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.b));
        team_.run([&](int thread) {
            const Share share = share_of(panels_, thread, team_.threads());
            for (std::int64_t panel = share.first; panel < share.last; ++panel) {
                char* out = static_cast<char*>(to) + panel * depth_ * width<Sum> * bytes;
                std::memset(out, 0, static_cast<std::size_t>(depth_ * width<Sum> * bytes));
                const std::int64_t columns = std::min(width<Sum>, step_.n - panel * width<Sum>);
                for (std::int64_t k = 0; k < step_.k; ++k) {
                    if (Group == 1 && step_.b_n == 1) {  // a row as it stands
                        const std::int64_t at = k * step_.b_k + panel * width<Sum>;
                        std::memcpy(out + in_panel(k, 0) * bytes, static_cast<const char*>(from) + at * bytes,
                                    static_cast<std::size_t>(columns * bytes));
                        continue;
                    }
                    for (std::int64_t j = 0; j < columns; ++j) {
                        const std::int64_t at = k * step_.b_k + (panel * width<Sum> + j) * step_.b_n;
                        std::memcpy(out + in_panel(k, j) * bytes, static_cast<const char*>(from) + at * bytes,
                                    static_cast<std::size_t>(bytes));
                    }
                }
            }
        });
        return {};
    }

    Status run(std::span<void* const> arrays) override {
        std::int64_t batches = 1;
        for (const MatmulStep::Batch& loop : step_.batch) batches *= loop.size;
        // as many columns at a time as leaves every thread something to do
        const int threads = team_.threads();
        const std::int64_t row_blocks = (step_.m - 1) / row_block + 1;
        const std::int64_t fair = (panels_ * batches * row_blocks - 1) / threads + 1;
        const std::int64_t at_once = std::clamp<std::int64_t>(fair, 1, column_block / width<Sum>);
        const std::int64_t column_blocks = (panels_ - 1) / at_once + 1;
        team_.run([&](int thread) {
            Blocks<Sum, A, B>& blocks = blocks_[static_cast<std::size_t>(thread)];
            blocks.c.resize(static_cast<std::size_t>(row_block * column_block));
            const Share share = share_of(batches * column_blocks * row_blocks, thread, threads);
            for (std::int64_t task = share.first; task < share.last; ++task) {
                const std::int64_t first_panel = task / row_blocks % column_blocks * at_once;
                const std::int64_t first_row = task % row_blocks * row_block;
                one(blocks, arrays, task / row_blocks / column_blocks, first_row, first_panel,
                    std::min(first_panel + at_once, panels_));
            }
        });
        return {};
    }

private:
    void one(Blocks<Sum, A, B>& blocks, std::span<void* const> arrays, std::int64_t batch, std::int64_t first_row,
             std::int64_t first_panel, std::int64_t last_panel) {
        std::int64_t a = 0;
        std::int64_t b = 0;
        std::int64_t c = 0;
        for (std::size_t i = step_.batch.size(); i-- > 0;) {
            const MatmulStep::Batch& loop = step_.batch[i];
            a += batch % loop.size * loop.a;
            b += batch % loop.size * loop.b;
            c += batch % loop.size * loop.c;
            batch /= loop.size;
        }
        const std::int64_t rows = std::min(row_block, step_.m - first_row);
        const std::int64_t whole = (rows - 1) / rows_at_once * rows_at_once + rows_at_once;
        std::fill_n(blocks.c.begin(), whole * column_block, Sum{0});
        for (std::int64_t k = 0; k < step_.k; k += depth_block) {
            const std::int64_t depth = std::min(depth_block, step_.k - k);
            const std::int64_t padded = (depth - 1) / Group * Group + Group;
            take_a(blocks, arrays[0], a + first_row * step_.a_m + k * step_.a_k, rows, depth);
            for (std::int64_t panel = first_panel; panel < last_panel; ++panel) {
                const B* columns = take_b(blocks, arrays[1], b, panel, k, depth);
                Sum* sums = blocks.c.data() + (panel - first_panel) * width<Sum>;
                for (std::int64_t row = 0; row < rows; row += rows_at_once) {
                    multiply(rows - row, blocks.a.data() + row * padded, columns, sums + row * column_block,
                             column_block, padded);
                }
            }
        }
        const std::int64_t first_column = first_panel * width<Sum>;
        const std::int64_t columns = std::min(last_panel * width<Sum>, step_.n) - first_column;
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.c));
        for (std::int64_t row = 0; row < rows; ++row) {
            Sum* sums = blocks.c.data() + row * column_block;
            for (const MapFunction function : step_.then)
                map_elements(function, sums, sums, sums, sums, static_cast<std::size_t>(columns));
            const std::int64_t at = c + (first_row + row) * step_.c_m + first_column * step_.c_n;
            store_elements(step_.c, sums, static_cast<char*>(arrays[2]) + at * bytes, step_.c_n,
                           static_cast<std::size_t>(columns));
        }
    }

    /// Where element (k, column) stands in a panel.
    [[nodiscard]] static std::int64_t in_panel(std::int64_t k, std::int64_t column) {
        return (k / Group * width<Sum> + column) * Group + k % Group;
    }

    // Six rows after six rows, each group depth by depth; rows beyond the last, and what fills the last group, are 0.
    void take_a(Blocks<Sum, A, B>& blocks, const void* a, std::int64_t at, std::int64_t rows,
                std::int64_t depth) const {
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.a));
        const auto* from = static_cast<const char*>(a) + at * bytes;
        const std::int64_t whole = (rows - 1) / rows_at_once * rows_at_once + rows_at_once;
        const std::int64_t padded = (depth - 1) / Group * Group + Group;
        for (std::int64_t row = 0; row < whole; ++row) {
            A* to = blocks.a.data() + row / rows_at_once * rows_at_once * padded + row % rows_at_once * Group;
            const auto place = [](std::int64_t k) { return k / Group * rows_at_once * Group + k % Group; };
            const std::int64_t filled = row < rows ? depth : 0;
            if (filled > 0) {
                load_elements(step_.a, from + row * step_.a_m * bytes, step_.a_k, blocks.line.data(),
                              static_cast<std::size_t>(depth));
            }
            for (std::int64_t k = 0; k < filled; ++k)
                to[place(k)] = static_cast<A>(blocks.line[static_cast<std::size_t>(k)]);
            for (std::int64_t k = filled; k < padded; ++k) to[place(k)] = A{0};
        }
    }

    const B* take_b(Blocks<Sum, A, B>& blocks, const void* b, std::int64_t at, std::int64_t panel, std::int64_t k,
                    std::int64_t depth) const {
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.b));
        const auto* from = static_cast<const char*>(b);
        B* to = blocks.b.data();
        if (step_.weight) {
            from += (panel * depth_ + k) * width<Sum> * bytes;
            if constexpr (Group > 1) {
                return reinterpret_cast<const B*>(from);
            } else {
                load_elements(step_.b, from, 1, to, static_cast<std::size_t>(depth * width<Sum>));
                return to;
            }
        }
        const std::int64_t columns = std::min(width<Sum>, step_.n - panel * width<Sum>);
        from += (at + k * step_.b_k + panel * width<Sum> * step_.b_n) * bytes;
        if (columns < width<Sum> || depth % Group != 0) std::fill(blocks.b.begin(), blocks.b.end(), B{0});
        Sum* line = blocks.line.data();
        const bool by_rows = step_.b_n == 1;
        const std::int64_t lines = by_rows ? depth : columns;
        const std::int64_t length = by_rows ? columns : depth;
        for (std::int64_t i = 0; i < lines; ++i) {
            load_elements(step_.b, from + i * (by_rows ? step_.b_k : step_.b_n) * bytes, by_rows ? 1 : step_.b_k, line,
                          static_cast<std::size_t>(length));
            for (std::int64_t j = 0; j < length; ++j)
                to[by_rows ? in_panel(i, j) : in_panel(j, i)] = static_cast<B>(line[j]);
        }
        return to;
    }

    MatmulStep step_;
    Team& team_;
    std::int64_t panels_ = 1;
    std::int64_t depth_ = 1;  ///< k, as whole groups
    std::vector<Blocks<Sum, A, B>> blocks_;
};

}  // namespace

std::unique_ptr<StepKernel> make_plain_matmul(const MatmulStep& step, Team& team) {
    const Dtype sums = sums_in(step.arithmetic);
    if (sums == Dtype::f64) return std::make_unique<PlainMatmul<double, double, double, 1>>(step, team);
    if (sums == Dtype::f32) return std::make_unique<PlainMatmul<float, float, float, 1>>(step, team);
    using I = std::int32_t;
    if (step.a == Dtype::int8 && step.b == Dtype::int8 && has_pairs())
        return std::make_unique<PlainMatmul<I, std::int16_t, std::int8_t, 2>>(step, team);
    return std::make_unique<PlainMatmul<I, I, I, 1>>(step, team);
}

}  // namespace roofline
