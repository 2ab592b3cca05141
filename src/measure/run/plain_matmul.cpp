// Matmuls without a library: cache-sized blocks, panels of columns, and a tile of sums in registers.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "measure/run/cpu_kernels.hpp"
#include "measure/run/elements.hpp"
#include "measure/run/register_tile.hpp"
#include "measure/run/step_builder.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t row_block = 192;               // a multiple of the rows of every register tile
constexpr std::int64_t sums_held = row_block * 2048;  // sums of one task
constexpr std::int64_t rows_interleaved = 4;

/// Memory that begins on a cache line.
template <class T>
class Aligned {
public:
    void reach(std::int64_t count) {
        const std::size_t lines = (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64;
        if (lines > lines_.size()) lines_.resize(lines);
    }
    T* data() { return reinterpret_cast<T*>(lines_.data()); }

private:
    struct alignas(64) Line {
        std::array<char, 64> bytes{};
    };
    std::vector<Line> lines_;
};

/// Buffers of one thread.
template <class Sum, class A, class B>
struct Blocks {
    Aligned<A> a;
    Aligned<B> b;
    Aligned<Sum> c;
    Aligned<Sum> lines;  ///< as loaded, before the elements are rearranged
};

/// Operands are stored in groups along k: `Group` elements of one column (of one row in a) are adjacent.
template <class Sum, class A, class B, std::int64_t Group>
class PlainMatmul : public StepKernel {
    // long enough to amortise the cost of a call, short enough for a block of a to stay in the L2 cache
    static constexpr std::int64_t depth_block = 2048 / static_cast<std::int64_t>(sizeof(A));

public:
    PlainMatmul(const MatmulStep& step, Team& team, RegisterTile<Sum, A, B> tile)
        : step_(step), team_(team), tile_(tile) {
        panels_ = (step.n - 1) / tile_.width + 1;
        const std::int64_t pieces = (step.k - 1) / depth_block + 1;
        const std::int64_t whole = whole_groups(step.k);
        panel_bytes_ = whole * tile_.width * stored_bytes() + pieces * tail_bytes();
        for (const MatmulStep::Batch& loop : step.batch) batches_ *= loop.size;
        row_blocks_ = (step.m - 1) / row_block + 1;
        column_blocks_ = columns_cut(std::min(step.m, row_block));
        blocks_.resize(static_cast<std::size_t>(team.threads()));
    }

    [[nodiscard]] std::size_t packed_bytes() const override {
        return step_.weight ? static_cast<std::size_t>(panels_ * panel_bytes_) : 0;
    }

    // Stores panels without gaps, in pieces of one block's depth; columns beyond the last are 0.
    Status pack(const void* from, void* to) override {
        team_.run([&](int thread) {
            const Share share = share_of(panels_, thread, team_.threads());
            for (std::int64_t panel = share.first; panel < share.last; ++panel) {
                for (std::int64_t k = 0; k < step_.k; k += depth_block)
                    pack_piece(from, static_cast<char*>(to) + piece_at(panel, k), panel, k);
            }
        });
        return {};
    }

    Status run(std::span<void* const> arrays) override {
        team_.run([&](int thread) {
            Blocks<Sum, A, B>& blocks = blocks_[static_cast<std::size_t>(thread)];
            make_room(blocks);
            const Share share = share_of(batches_ * column_blocks_ * row_blocks_, thread, team_.threads());
            for (std::int64_t task = share.first; task < share.last; ++task) {
                const auto column = static_cast<int>(task / row_blocks_ % column_blocks_);
                one(blocks, arrays, task / row_blocks_ / column_blocks_, task % row_blocks_ * row_block,
                    share_of(panels_, column, static_cast<int>(column_blocks_)));
            }
        });
        return {};
    }

private:
    // Chooses the smallest number of column blocks with which the sums of a task fit in a cache and all threads have
    // equal work.
    [[nodiscard]] std::int64_t columns_cut(std::int64_t rows) const {
        const std::int64_t wide = std::max<std::int64_t>(1, sums_held / (rows * tile_.width));
        const std::int64_t others = batches_ * row_blocks_;
        const std::int64_t threads = team_.threads();
        std::int64_t cut = (panels_ - 1) / wide + 1;
        while (cut < panels_ && others * cut % threads != 0 && others * cut < 8 * threads) ++cut;
        return cut;
    }

    // The thread that uses the buffers allocates them so that they lie near it.
    void make_room(Blocks<Sum, A, B>& blocks) const {
        const std::int64_t rows = std::min(step_.m, row_block);
        const std::int64_t wide = (panels_ - 1) / column_blocks_ + 1;
        blocks.a.reach(rows * depth_block);
        blocks.b.reach(depth_block * tile_.width + tail_bytes() / static_cast<std::int64_t>(sizeof(B)));
        blocks.c.reach(rows * row_stride(wide));
        blocks.lines.reach(std::max(rows_interleaved * depth_block, tile_.width));
    }

    void one(Blocks<Sum, A, B>& blocks, std::span<void* const> arrays, std::int64_t batch, std::int64_t first_row,
             Share panels) {
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
        const std::int64_t stride = row_stride(panels.last - panels.first);
        std::fill_n(blocks.c.data(), rows * stride, Sum{0});
        for (std::int64_t k = 0; k < step_.k; k += depth_block) {
            take_a(blocks, arrays[0], a + first_row * step_.a_m + k * step_.a_k, rows,
                   std::min(depth_block, step_.k - k));
            for (std::int64_t panel = panels.first; panel < panels.last; ++panel)
                times_piece(blocks, arrays[1], b, rows, panels, panel, k);
        }
        store(blocks.c.data(), rows, stride, arrays[2], c + first_row * step_.c_m, panels);
    }

    // Divides rows into groups of nearly equal size that fit in registers: a group of one or two rows would be bound by
    // the latency of its own sums.
    void times_piece(Blocks<Sum, A, B>& blocks, const void* weights, std::int64_t b, std::int64_t rows, Share panels,
                     std::int64_t panel, std::int64_t k) {
        const std::int64_t stride = row_stride(panels.last - panels.first);
        const std::int64_t depth = whole_groups(std::min(depth_block, step_.k - k));
        const B* columns = take_b(blocks, weights, b, panel, k);
        Sum* sums = blocks.c.data() + (panel - panels.first) * tile_.width;
        const auto groups = static_cast<int>((rows - 1) / tile_.rows() + 1);
        Ahead ahead = next_piece(weights, panels, panel, k, depth / Group * groups);
        if (ahead.at == nullptr) ahead.at = columns;
        for (int group = 0; group < groups; ++group) {
            const Share share = share_of(rows, group, groups);
            tile_.by_rows[static_cast<std::size_t>(share.last - share.first - 1)](
                blocks.a.data() + share.first * depth, columns, sums + share.first * stride, stride, depth, ahead);
            ahead.at = static_cast<const char*>(ahead.at) + ahead.step * (depth / Group);
        }
    }

    // Returns which part of the packed weights the task needs next. It is prefetched while this piece is multiplied so
    // that memory access overlaps with computation.
    [[nodiscard]] Ahead next_piece(const void* weights, Share panels, std::int64_t panel, std::int64_t k,
                                   std::int64_t turns) const {
        const bool more = panel + 1 < panels.last;
        const std::int64_t then = more ? k : k + depth_block;
        if (!step_.weight || then >= step_.k) return {};
        const std::int64_t bytes = std::min(depth_block, step_.k - then) * tile_.width * stored_bytes();
        return {static_cast<const char*>(weights) + piece_at(more ? panel + 1 : panels.first, then),
                (bytes - 1) / turns + 1};
    }

    void store(Sum* sums, std::int64_t rows, std::int64_t stride, void* output, std::int64_t at, Share panels) const {
        const std::int64_t first_column = panels.first * tile_.width;
        const std::int64_t columns = std::min(panels.last * tile_.width, step_.n) - first_column;
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.c));
        for (std::int64_t row = 0; row < rows; ++row, sums += stride) {
            for (const MapFunction function : step_.then)
                map_elements(function, sums, sums, sums, sums, static_cast<std::size_t>(columns));
            store_elements(step_.c, sums,
                           static_cast<char*>(output) + (at + row * step_.c_m + first_column * step_.c_n) * bytes,
                           step_.c_n, static_cast<std::size_t>(columns));
        }
    }

    /// Elements between rows of the sums: an odd number of cache lines. With a power of two all rows would map to the
    /// same cache sets.
    [[nodiscard]] std::int64_t row_stride(std::int64_t panels) const {
        return panels * tile_.width + static_cast<std::int64_t>(64 / sizeof(Sum));
    }
    [[nodiscard]] static std::int64_t whole_groups(std::int64_t depth) { return (depth - 1) / Group * Group + Group; }
    /// Bytes of an element of b in a panel: packed elements have the dtype of the multiplication.
    [[nodiscard]] std::int64_t stored_bytes() const { return static_cast<std::int64_t>(element_bytes(step_.b)); }
    /// Bytes that follow each piece of b.
    [[nodiscard]] std::int64_t tail_bytes() const {
        return tile_.lift == 0 ? 0 : tile_.width * static_cast<std::int64_t>(sizeof(Sum));
    }
    [[nodiscard]] std::int64_t piece_at(std::int64_t panel, std::int64_t k) const {
        return panel * panel_bytes_ + k * tile_.width * stored_bytes() + k / depth_block * tail_bytes();
    }
    /// Position of element (k, column) in a piece.
    [[nodiscard]] std::int64_t in_piece(std::int64_t k, std::int64_t column) const {
        return (k / Group * tile_.width + column) * Group + k % Group;
    }

    void pack_piece(const void* from, char* out, std::int64_t panel, std::int64_t first) const {
        const std::int64_t bytes = stored_bytes();
        const std::int64_t depth = std::min(depth_block, step_.k - first);
        const std::int64_t columns = std::min(tile_.width, step_.n - panel * tile_.width);
        std::memset(out, 0, static_cast<std::size_t>(whole_groups(depth) * tile_.width * bytes));
        const char* start =
            static_cast<const char*>(from) + (first * step_.b_k + panel * tile_.width * step_.b_n) * bytes;
        for (std::int64_t k = 0; k < depth; ++k, start += step_.b_k * bytes) {
            char* line = out + in_piece(k, 0) * bytes;
            if (Group == 1 && step_.b_n == 1) {  // a row that needs no rearranging
                std::memcpy(line, start, static_cast<std::size_t>(columns * bytes));
            } else if (bytes == 1) {
                spread<std::int8_t>(start, line, columns);
            } else if (bytes == 2) {
                spread<std::int16_t>(start, line, columns);
            } else if (bytes == 4) {
                spread<std::int32_t>(start, line, columns);
            } else {
                spread<std::int64_t>(start, line, columns);
            }
        }
        if constexpr (Group > 1) take_out_lift(reinterpret_cast<B*>(out), whole_groups(depth));
    }

    template <class T>
    void spread(const char* from, char* to, std::int64_t columns) const {
        const auto* source = reinterpret_cast<const T*>(from);
        auto* target = reinterpret_cast<T*>(to);
        for (std::int64_t j = 0; j < columns; ++j) target[j * Group] = source[j * step_.b_n];
    }

    // Stores what corrects the offset added to a: the offset times the sum of each column.
    void take_out_lift(B* piece, std::int64_t depth) const {
        if (tile_.lift == 0) return;
        char* out = reinterpret_cast<char*>(piece + depth * tile_.width);
        for (std::int64_t j = 0; j < tile_.width; ++j) {
            std::int64_t sum = 0;
            for (std::int64_t k = 0; k < depth; ++k) sum += static_cast<std::int64_t>(piece[in_piece(k, j)]);
            const auto lifted = static_cast<Sum>(-tile_.lift * sum);
            std::memcpy(out + j * static_cast<std::int64_t>(sizeof lifted), &lifted, sizeof lifted);
        }
    }

    // Packs a group by group of rows and depth by depth; the padding of a row's last group is multiplied by 0.
    void take_a(Blocks<Sum, A, B>& blocks, const void* a, std::int64_t at, std::int64_t rows,
                std::int64_t depth) const {
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.a));
        const auto* from = static_cast<const char*>(a) + at * bytes;
        const std::int64_t padded = whole_groups(depth);
        const auto groups = static_cast<int>((rows - 1) / tile_.rows() + 1);
        for (int group = 0; group < groups; ++group) {
            const Share share = share_of(rows, group, groups);
            const std::int64_t wide = share.last - share.first;
            A* to = blocks.a.data() + share.first * padded;
            for (std::int64_t row = 0; row < wide; row += rows_interleaved) {
                const std::int64_t count = std::min(rows_interleaved, wide - row);
                interleave(blocks.lines.data(), from + (share.first + row) * step_.a_m * bytes, to + row * Group, wide,
                           count, depth);
            }
        }
    }

    // Packs `count` rows of a group of `wide`, several at a time so that neighbouring bytes are written together.
    void interleave(Sum* lines, const char* from, A* to, std::int64_t wide, std::int64_t count,
                    std::int64_t depth) const {
        const auto bytes = static_cast<std::int64_t>(element_bytes(step_.a));
        if constexpr (Group == 4) {
            if (step_.a_k == 1 && depth % Group == 0) return interleave_words(from, to, wide, count, depth);
        }
        for (std::int64_t i = 0; i < count; ++i) {
            load_elements(step_.a, from + i * step_.a_m * bytes, step_.a_k, lines + i * depth_block,
                          static_cast<std::size_t>(depth));
        }
        const auto lift = static_cast<Sum>(tile_.lift);
        if (Group == 1 && count == rows_interleaved) {
            for (std::int64_t k = 0; k < depth; ++k) {
                A* out = to + k * wide;
                for (std::int64_t i = 0; i < rows_interleaved; ++i) out[i] = static_cast<A>(lines[i * depth_block + k]);
            }
            return;
        }
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t k = 0; k < depth; ++k)
                to[(k / Group * wide + i) * Group + k % Group] = static_cast<A>(lines[i * depth_block + k] + lift);
            for (std::int64_t k = depth; k < whole_groups(depth); ++k)
                to[(k / Group * wide + i) * Group + k % Group] = A{0};
        }
    }

    // Packs four 8-bit numbers together; flipping the highest bit adds 128 to each.
    void interleave_words(const char* from, A* to, std::int64_t wide, std::int64_t count, std::int64_t depth) const {
        for (std::int64_t i = 0; i < count; ++i) {
            const char* row = from + i * step_.a_m;
            for (std::int64_t k = 0; k < depth; k += Group) {
                std::uint32_t word = 0;
                std::memcpy(&word, row + k, sizeof word);
                word ^= 0x80808080U;
                std::memcpy(to + k * wide + i * Group, &word, sizeof word);
            }
        }
    }

    const B* take_b(Blocks<Sum, A, B>& blocks, const void* b, std::int64_t at, std::int64_t panel,
                    std::int64_t k) const {
        const std::int64_t bytes = stored_bytes();
        const std::int64_t depth = std::min(depth_block, step_.k - k);
        const auto* from = static_cast<const char*>(b);
        B* to = blocks.b.data();
        if (step_.weight) {
            from += piece_at(panel, k);
            if (Group > 1 || as_multiplied()) return reinterpret_cast<const B*>(from);
            load_elements(step_.b, from, 1, reinterpret_cast<Sum*>(to), static_cast<std::size_t>(depth * tile_.width));
            return to;
        }
        const std::int64_t columns = std::min(tile_.width, step_.n - panel * tile_.width);
        from += (at + k * step_.b_k + panel * tile_.width * step_.b_n) * bytes;
        if (columns < tile_.width || depth % Group != 0) std::fill_n(to, whole_groups(depth) * tile_.width, B{0});
        Sum* line = blocks.lines.data();
        const bool by_rows = step_.b_n == 1;
        const std::int64_t lines = by_rows ? depth : columns;
        const std::int64_t length = by_rows ? columns : depth;
        for (std::int64_t i = 0; i < lines; ++i) {
            load_elements(step_.b, from + i * (by_rows ? step_.b_k : step_.b_n) * bytes, by_rows ? 1 : step_.b_k, line,
                          static_cast<std::size_t>(length));
            for (std::int64_t j = 0; j < length; ++j)
                to[by_rows ? in_piece(i, j) : in_piece(j, i)] = static_cast<B>(line[j]);
        }
        take_out_lift(to, whole_groups(depth));
        return to;
    }

    [[nodiscard]] bool as_multiplied() const {
        return (std::is_same_v<B, float> && (step_.b == Dtype::f32 || step_.b == Dtype::tf32)) ||
               (std::is_same_v<B, double> && step_.b == Dtype::f64) ||
               (std::is_same_v<B, std::int32_t> && step_.b == Dtype::int32);
    }

    MatmulStep step_;
    Team& team_;
    RegisterTile<Sum, A, B> tile_;
    std::int64_t panels_ = 1;
    std::int64_t panel_bytes_ = 0;
    std::int64_t batches_ = 1;
    std::int64_t row_blocks_ = 1;
    std::int64_t column_blocks_ = 1;
    std::vector<Blocks<Sum, A, B>> blocks_;
};

}  // namespace

std::unique_ptr<StepKernel> make_plain_matmul(const MatmulStep& step, Team& team) {
    const Dtype sums = sums_in(step.arithmetic);
    using I = std::int32_t;
    if (sums == Dtype::f64)
        return std::make_unique<PlainMatmul<double, double, double, 1>>(step, team, f64_tiles().front());
    if (sums == Dtype::f32)
        return std::make_unique<PlainMatmul<float, float, float, 1>>(step, team, f32_tiles().front());
    if (step.a == Dtype::int8 && step.b == Dtype::int8) {
        if (const auto quads = quad_tiles(); !quads.empty())
            return std::make_unique<PlainMatmul<I, std::uint8_t, std::int8_t, 4>>(step, team, quads.front());
        if (const auto pairs = pair_tiles(); !pairs.empty())
            return std::make_unique<PlainMatmul<I, std::int16_t, std::int8_t, 2>>(step, team, pairs.front());
    }
    return std::make_unique<PlainMatmul<I, I, I, 1>>(step, team, int32_tiles().front());
}

}  // namespace roofline::core
