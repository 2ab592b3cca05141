#include "calibrate/kernel/kernel_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace roofline::core {

namespace {

struct TileSize {
    double rows;
    double columns;
};
// typical tiles of libraries for small, medium and large results; more sizes do not reduce the error of any table
constexpr std::array<TileSize, 3> tile_sizes{{{64, 64}, {128, 128}, {128, 256}}};
constexpr std::array<double, 9> splits_of_depth{1, 2, 3, 4, 6, 8, 12, 16, 32};
constexpr double min_split_depth = 64;  // of a split; a shorter one takes as long

static_assert(tile_sizes.size() * splits_of_depth.size() == max_tilings);

bool can_tile(const KernelPoint& point) { return point.m > 0 && point.n > 0 && point.batch > 0 && point.cores > 0; }

/// Tiles of one size, before the depth is split.
struct Tiles {
    TileSize size;
    double tiles = 0;
    double wave = 0;  ///< elements that a full wave computes, over those of the result
};

Tiles tiles_of(const KernelPoint& point, TileSize size, double across, double along) {
    if (point.whole_rows) size.columns = std::max(size.columns, point.n);
    const double tiles = std::ceil(across / size.rows) * std::ceil(along / size.columns) * point.batch;
    return {size, tiles, point.cores * size.rows * size.columns / (point.m * point.n * point.batch)};
}

/// The longer side of a tile is parallel to the longer side of the result.
Tiles tiles_of(const KernelPoint& point, const TileSize& size) {
    if (point.whole_rows) return tiles_of(point, size, point.m, point.n);
    return tiles_of(point, size, std::min(point.m, point.n), std::max(point.m, point.n));
}

Tiling cut(const KernelPoint& point, const Tiles& all, double splits) {
    const double tiles = all.tiles * splits;
    const double waves = std::ceil(tiles / point.cores);
    // continuous at the depths where the maximum number of splits changes
    const double part = splits > 1 ? std::max(1 / splits, min_split_depth / point.depth) : 1;
    return {all.size.rows, all.size.columns, splits, waves, tiles, point.math_s * waves * all.wave * part, part};
}

/// The result of CUTLASS's dispatch by rows: up to 64 rows, the tile has half the rows and columns; up to 128, half the
/// rows.
Tiling cut_by_rows(const KernelPoint& point) {
    constexpr double half = 64;
    const TileSize size{point.m <= 2 * half ? half : 2 * half, point.m <= half ? half : 2 * half};
    return cut(point, tiles_of(point, size, point.m, point.n), 1);
}

using Parts = std::array<double, kernel_parts>;

double sum_of(const Parts& parts) { return parts[0] + parts[1] + parts[2] + parts[3]; }

double longest_of(const Parts& parts) { return std::max({parts[0], parts[1], parts[2], parts[3]}); }

/// The parts are divided by the longest before they are raised to p, so that the power of the longest is 1 and absent
/// parts need no logarithm.
Norm norm_from(const Parts& parts, double longest, double p) {
    Norm all;
    all.norm = longest;
    if (!(longest > 0)) return all;
    const bool maximum = std::isinf(p);
    for (std::size_t i = 0; i < kernel_parts; ++i) {
        if (parts[i] == longest) {
            all.powers[i] = 1;
        } else if (parts[i] > 0 && !maximum) {
            all.powers[i] = std::pow(parts[i] / longest, p);
        }
    }
    const double sum = sum_of(all.powers);
    if (!maximum && sum != 1) all.norm *= std::pow(sum, 1 / p);
    return all;
}

/// Recognizes norms that are not below a limit without computing a logarithm. A part over the limit is less than 1, so
/// its power is at least that with the exponent rounded up to a multiple of a quarter.
class QuickNorm {
public:
    explicit QuickNorm(double p) : known_(p <= most) {
        if (!known_) return;
        const auto quarters = static_cast<unsigned>(std::ceil(4 * p));
        whole_ = quarters / 4;
        half_ = (quarters & 2U) != 0;
        quarter_ = (quarters & 1U) != 0;
    }

    /// Returns true only if the norm is not below the limit, provided that all parts are below it.
    [[nodiscard]] bool above(const Parts& parts, double limit) const {
        constexpr double rounding = 1e-12;
        if (!known_) return false;
        double sum = 0;
        for (const double part : parts) {
            if (part > 0) sum += power(part / limit);
        }
        return sum > 1 + rounding;
    }

private:
    static constexpr double most = 16;  // for larger p the longest part is almost as good an estimate

    [[nodiscard]] double power(double x) const {
        double power = 1;
        double square = x;
        for (unsigned bits = whole_; bits != 0; bits >>= 1U) {
            if ((bits & 1U) != 0) power *= square;
            square *= square;
        }
        if (!half_ && !quarter_) return power;
        const double root = std::sqrt(x);
        if (half_) power *= root;
        return quarter_ ? power * std::sqrt(root) : power;
    }

    bool known_;
    unsigned whole_ = 0;
    bool half_ = false;
    bool quarter_ = false;
};

/// What all tilings of a point have in common.
struct TilingInvariants {
    const KernelModel& model;
    const KernelPoint& point;
    double ramp_s = 0;  ///< of the depth in one split
    double rows_s = 0;
    double wave_s = 0;                 ///< waves that do not overlap
    double slowdown = 1;               ///< of the matmul time
    double added_math_s = 0;           ///< matmul time besides that of whole tiles
    double tile_limited_memory_s = 0;  ///< memory time that is stretched if there are few tiles
    Parts parts{};

    TilingInvariants(const KernelModel& by, const KernelPoint& of) : model(by), point(of) {
        const double write = model.write > 0 ? model.write : model.memory;
        const double cached = cached_share(model, point);
        ramp_s = model.ramp_s * point.depth;
        rows_s = model.row_s * rows_of_core(point);
        wave_s = model.hidden ? 0 : model.wave_s;
        slowdown = 1 / model.math;
        tile_limited_memory_s =
            (1 - cached) * ((point.memory_s - point.write_s) / model.memory + point.write_s / write) +
            cached * point.memory_s / model.cache;
        parts = {point.math_s * slowdown, point.vector_s / model.vector,
                 tile_limited_memory_s + point.reread_s / model.reread, point.other_s};
        added_math_s = added_math_of(model, point);
        parts[0] += added_math_s * slowdown;
        if (model.inner > 0) parts[2] += point.inner_s / model.inner;
    }

    [[nodiscard]] double overhead(const Tiling& tiling) const {
        // without branches, which would dominate the time of evaluating many tilings
        const double split = std::min(tiling.splits - 1, 1.0);  // the number of splits is an integer
        const double waves = std::max(tiling.waves - 1, 0.0);
        return model.fixed_s + ramp_s * tiling.part + rows_s + model.split_s * split + wave_s * waves;
    }

    [[nodiscard]] double math(const Tiling& tiling) const { return (math_of(point, tiling) + added_math_s) * slowdown; }

    [[nodiscard]] Parts cut(const Tiling& tiling) const {
        Parts cut = parts;
        cut[0] = math(tiling);
        cut[2] += tile_limited_memory_s * (stretch_of(model, point, tiling) - 1);
        if (tiling.splits > 1) cut[2] += tiling.splits * point.partial_sums_s / model.partial;
        if (model.hidden) cut[3] += model.wave_s * tiling.waves;
        return cut;
    }
};

/// The heads of the point are already separate.
double seconds_at(const KernelModel& model, const KernelPoint& point) {
    if (!model.tiled || model.by_rows || !can_tile(point)) return seconds_of(model, point, tiling_of(model, point));
    return cheapest(model, point, tilings_of(point)).seconds();
}

}  // namespace

bool needs_separate_heads(const KernelModel& model, const KernelPoint& point) {
    return model.share > 0 && point.heads > model.share && point.shared_read_s > 0;
}

KernelPoint separate_heads(const KernelPoint& point) {
    KernelPoint each = point;
    each.m /= point.heads;
    each.batch *= point.heads;
    each.reread_s = point.shared_read_s * (point.heads - 1);
    each.heads = 1;
    return each;
}

KernelPoint separate_heads(const KernelModel& model, const KernelPoint& point) {
    return needs_separate_heads(model, point) ? separate_heads(point) : point;
}

double cached_share(const KernelModel& model, const KernelPoint& point) {
    if (!(model.warm > 0 && point.fill > 0)) return 0;
    const double over = point.fill / model.warm;
    // steep, because a cache keeps either all or nothing of data that is used cyclically
    const double cube = over * over * over;
    return 1 / (1 + cube * cube);
}

double overhead_of(const KernelModel& model, const KernelPoint& point, const Tiling& tiling) {
    return TilingInvariants(model, point).overhead(tiling);
}

Parts parts_of(const KernelModel& model, const KernelPoint& point, const Tiling& tiling) {
    return TilingInvariants(model, point).cut(tiling);
}

double norm_of(const Parts& parts, double p) { return norm_from(parts, longest_of(parts), p).norm; }

double bound_of(const KernelPoint& point) {
    return std::max({point.math_s, point.vector_s, point.memory_s, point.other_s});
}

double bound_of(const KernelModel& model, const KernelPoint& point) {
    KernelPoint cached = point;
    cached.memory_s *= 1 - cached_share(model, point) * (1 - 1 / std::max(model.cache, 1.0));
    return bound_of(cached);
}

double resident_bound_of(const KernelPoint& point) {
    KernelPoint resident = point;
    if (point.fill > 0 && point.fill <= 1) resident.memory_s /= fastest_cache;
    return bound_of(resident);
}

Parts slopes_of(const Norm& norm, const Parts& parts) {
    Parts slopes{};
    const double sum = sum_of(norm.powers);
    for (std::size_t i = 0; i < kernel_parts; ++i) {
        if (norm.powers[i] > 0) slopes[i] = norm.powers[i] / sum * (norm.norm / parts[i]);
    }
    return slopes;
}

double seconds_of(const KernelModel& model, const KernelPoint& point, const Tiling& tiling) {
    return cheapest(model, point, {&tiling, 1}).seconds();
}

Tilings tilings_of(const KernelPoint& point) {
    Tilings tilings;
    if (!can_tile(point)) return tilings;
    for (const TileSize& size : tile_sizes) {
        const Tiles tiles = tiles_of(point, size);
        for (const double splits : splits_of_depth) {
            tilings.each[tilings.count++] = cut(point, tiles, splits);
            if (point.depth <= splits * min_split_depth) break;  // further splits would not be shorter
        }
    }
    return tilings;
}

TilingTime cheapest(const KernelModel& model, const KernelPoint& point, std::span<const Tiling> tilings,
                    std::size_t near) {
    const TilingInvariants uncut(model, point);
    const auto time_of = [&](std::size_t index, const Parts& parts) -> TilingTime {
        return {index, uncut.overhead(tilings[index]), parts, norm_from(parts, longest_of(parts), model.p)};
    };
    TilingTime best = time_of(near, uncut.cut(tilings[near]));
    if (tilings.size() == 1) return best;
    // most tilings are excluded before all of their parts are known, because a norm is at least its longest part
    std::array<double, max_tilings> at_least{};
    for (std::size_t i = 0; i < tilings.size(); ++i) at_least[i] = uncut.overhead(tilings[i]) + uncut.math(tilings[i]);
    at_least[near] = std::numeric_limits<double>::infinity();
    double least = best.seconds();
    const QuickNorm quick(model.p);
    for (std::size_t i = 0; i < tilings.size(); ++i) {
        if (at_least[i] > least) continue;
        const Parts parts = uncut.cut(tilings[i]);
        const double left = least - uncut.overhead(tilings[i]);
        if (longest_of(parts) > left || quick.above(parts, left)) continue;
        const TilingTime other = time_of(i, parts);
        if (other.seconds() > least || (other.seconds() == least && i > best.index)) continue;
        least = other.seconds();
        best = other;
    }
    return best;
}

Tiling tiling_by_rows(const KernelPoint& point) { return can_tile(point) ? cut_by_rows(point) : Tiling{}; }

Tiling tiling_of(const KernelModel& model, const KernelPoint& point) {
    if (!model.tiled || !can_tile(point)) return {};
    if (model.by_rows) return cut_by_rows(point);
    const Tilings tilings = tilings_of(point);
    return tilings.each[cheapest(model, point, tilings).index];
}

double seconds_of(const KernelModel& model, const KernelPoint& point) {
    return needs_separate_heads(model, point) ? seconds_at(model, separate_heads(point)) : seconds_at(model, point);
}

}  // namespace roofline::core
