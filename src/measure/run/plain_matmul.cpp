// Matrix products without a library: blocks that fit the caches, panels of 16 columns, 6 rows at a time in registers.
#include <algorithm>
#include <cstring>
#include <vector>

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
template <class T>
constexpr std::int64_t width = static_cast<std::int64_t>(64 / sizeof(T));

/// c += a b for one block of sums: a is depth x 6, b depth x width, c rows `stride` apart.
template <class T>
ROOFLINE_INLINE void block_product(const T* a, const T* b, T* c, std::int64_t stride, std::int64_t depth) {
    typedef T Sums __attribute__((vector_size(64)));
    Sums s0{};
    Sums s1{};
    Sums s2{};
    Sums s3{};
    Sums s4{};
    Sums s5{};
    for (std::int64_t k = 0; k < depth; ++k) {
        Sums column;
        std::memcpy(&column, b + k * width<T>, sizeof column);
        const T* row = a + k * rows_at_once;
        s0 += row[0] * column;
        s1 += row[1] * column;
        s2 += row[2] * column;
        s3 += row[3] * column;
        s4 += row[4] * column;
        s5 += row[5] * column;
    }
    const Sums* sums[] = {&s0, &s1, &s2, &s3, &s4, &s5};
    for (std::int64_t i = 0; i < rows_at_once; ++i) {
        Sums old;
        std::memcpy(&old, c + i * stride, sizeof old);
        old += *sums[i];
        std::memcpy(c + i * stride, &old, sizeof old);
    }
}

ROOFLINE_CLONES void multiply(const float* a, const float* b, float* c, std::int64_t stride, std::int64_t depth) {
    block_product<float>(a, b, c, stride, depth);
}
ROOFLINE_CLONES void multiply(const double* a, const double* b, double* c, std::int64_t stride, std::int64_t depth) {
    block_product<double>(a, b, c, stride, depth);
}
// Unsigned: whole numbers wrap around.
ROOFLINE_CLONES void multiply(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, std::int64_t stride,
                              std::int64_t depth) {
    block_product<std::uint32_t>(reinterpret_cast<const std::uint32_t*>(a), reinterpret_cast<const std::uint32_t*>(b),
                                 reinterpret_cast<std::uint32_t*>(c), stride, depth);
}

/// The blocks one thread works with.
template <class T>
struct Blocks {
    std::vector<T> a = std::vector<T>(static_cast<std::size_t>(row_block * depth_block));
    std::vector<T> b = std::vector<T>(static_cast<std::size_t>(depth_block * width<T>));
    std::vector<T> line = std::vector<T>(static_cast<std::size_t>(std::max(depth_block, column_block)));
    std::vector<T> c;  ///< rows of the block, each column_block wide
};

template <class T>
class PlainMatmul : public StepKernel {
public:
    PlainMatmul(const MatmulStep& step, Team& team) : step_(step), team_(team) {
        panels_ = (step.n - 1) / width<T> + 1;
        blocks_.resize(static_cast<std::size_t>(team.threads()));
    }

    [[nodiscard]] std::size_t packed_bytes() const override {
        if (!step_.weight) return 0;
        return static_cast<std::size_t>(panels_ * step_.k * width<T>) * element_bytes(step_.b);
    }

    // Panel by panel, each k x width without gaps; columns beyond the last are 0.
    Status pack(const void* from, void* to) override {
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.b));
        team_.run([&](int thread) {
            const Share share = share_of(panels_, thread, team_.threads());
            for (std::int64_t panel = share.first; panel < share.last; ++panel) {
                char* out = static_cast<char*>(to) + panel * step_.k * width<T> * bytes;
                std::memset(out, 0, static_cast<std::size_t>(step_.k * width<T> * bytes));
                const std::int64_t columns = std::min(width<T>, step_.n - panel * width<T>);
                for (std::int64_t k = 0; k < step_.k; ++k) {
                    for (std::int64_t j = 0; j < columns; ++j) {
                        const std::int64_t at = k * step_.b_k + (panel * width<T> + j) * step_.b_n;
                        std::memcpy(out + (k * width<T> + j) * bytes, static_cast<const char*>(from) + at * bytes,
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
        const std::int64_t at_once = std::clamp<std::int64_t>(fair, 1, column_block / width<T>);
        const std::int64_t column_blocks = (panels_ - 1) / at_once + 1;
        team_.run([&](int thread) {
            Blocks<T>& blocks = blocks_[static_cast<std::size_t>(thread)];
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

    [[nodiscard]] std::string note() const override { return ""; }

private:
    void one(Blocks<T>& blocks, std::span<void* const> arrays, std::int64_t batch, std::int64_t first_row,
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
        std::fill_n(blocks.c.begin(), whole * column_block, T{0});
        for (std::int64_t k = 0; k < step_.k; k += depth_block) {
            const std::int64_t depth = std::min(depth_block, step_.k - k);
            take_a(blocks, arrays[0], a + first_row * step_.a_m + k * step_.a_k, rows, depth);
            for (std::int64_t panel = first_panel; panel < last_panel; ++panel) {
                const T* columns = take_b(blocks, arrays[1], b, panel, k, depth);
                T* sums = blocks.c.data() + (panel - first_panel) * width<T>;
                for (std::int64_t row = 0; row < rows; row += rows_at_once) {
                    multiply(blocks.a.data() + row * depth, columns, sums + row * column_block, column_block, depth);
                }
            }
        }
        const std::int64_t first_column = first_panel * width<T>;
        const std::int64_t columns = std::min(last_panel * width<T>, step_.n) - first_column;
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.c));
        for (std::int64_t row = 0; row < rows; ++row) {
            T* sums = blocks.c.data() + row * column_block;
            for (const MapFunction function : step_.then)
                map_elements(function, sums, sums, sums, sums, static_cast<std::size_t>(columns));
            const std::int64_t at = c + (first_row + row) * step_.c_m + first_column * step_.c_n;
            store_elements(step_.c, sums, static_cast<char*>(arrays[2]) + at * bytes, step_.c_n,
                           static_cast<std::size_t>(columns));
        }
    }

    // Six rows after six rows, each group depth by depth; rows beyond the last are 0.
    void take_a(Blocks<T>& blocks, const void* a, std::int64_t at, std::int64_t rows, std::int64_t depth) const {
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.a));
        const auto* from = static_cast<const char*>(a) + at * bytes;
        const std::int64_t whole = (rows - 1) / rows_at_once * rows_at_once + rows_at_once;
        for (std::int64_t row = 0; row < whole; ++row) {
            T* to = blocks.a.data() + row / rows_at_once * rows_at_once * depth + row % rows_at_once;
            if (row >= rows) {
                for (std::int64_t k = 0; k < depth; ++k) to[k * rows_at_once] = T{0};
                continue;
            }
            load_elements(step_.a, from + row * step_.a_m * bytes, step_.a_k, blocks.line.data(),
                          static_cast<std::size_t>(depth));
            for (std::int64_t k = 0; k < depth; ++k) to[k * rows_at_once] = blocks.line[static_cast<std::size_t>(k)];
        }
    }

    const T* take_b(Blocks<T>& blocks, const void* b, std::int64_t at, std::int64_t panel, std::int64_t k,
                    std::int64_t depth) const {
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.b));
        const auto* from = static_cast<const char*>(b);
        T* to = blocks.b.data();
        if (step_.weight) {
            load_elements(step_.b, from + (panel * step_.k + k) * width<T> * bytes, 1, to,
                          static_cast<std::size_t>(depth * width<T>));
            return to;
        }
        const std::int64_t columns = std::min(width<T>, step_.n - panel * width<T>);
        from += (at + k * step_.b_k + panel * width<T> * step_.b_n) * bytes;
        if (columns < width<T>) std::fill(blocks.b.begin(), blocks.b.end(), T{0});
        if (step_.b_n == 1) {
            for (std::int64_t i = 0; i < depth; ++i)
                load_elements(step_.b, from + i * step_.b_k * bytes, 1, to + i * width<T>,
                              static_cast<std::size_t>(columns));
            return to;
        }
        for (std::int64_t j = 0; j < columns; ++j) {
            load_elements(step_.b, from + j * step_.b_n * bytes, step_.b_k, blocks.line.data(),
                          static_cast<std::size_t>(depth));
            for (std::int64_t i = 0; i < depth; ++i) to[i * width<T> + j] = blocks.line[static_cast<std::size_t>(i)];
        }
        return to;
    }

    MatmulStep step_;
    Team& team_;
    std::int64_t panels_ = 1;
    std::vector<Blocks<T>> blocks_;
};

}  // namespace

std::unique_ptr<StepKernel> make_plain_matmul(const MatmulStep& step, Team& team) {
    const Dtype sums = sums_in(step.arithmetic);
    if (sums == Dtype::f64) return std::make_unique<PlainMatmul<double>>(step, team);
    if (sums == Dtype::int32) return std::make_unique<PlainMatmul<std::int32_t>>(step, team);
    return std::make_unique<PlainMatmul<float>>(step, team);
}

}  // namespace roofline
