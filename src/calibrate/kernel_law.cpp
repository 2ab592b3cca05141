#include "calibrate/kernel_law.hpp"

#include <algorithm>
#include <cmath>

namespace roofline {

namespace {

struct TileSize {
    double rows;
    double columns;
};
// what libraries have for small, usual and large results; more of them improve no table's error
constexpr std::array<TileSize, 3> tile_sizes{{{64, 64}, {128, 128}, {128, 256}}};
constexpr std::array<double, 9> splits_of_depth{1, 2, 3, 4, 6, 8, 12, 16, 32};
constexpr double least_depth = 64;  // of a split: shorter ones would only start and end

static_assert(tile_sizes.size() * splits_of_depth.size() == most_tilings);

bool can_tile(const KernelPoint& point) { return point.m > 0 && point.n > 0 && point.batch > 0 && point.cores > 0; }

Tiling cut(const KernelPoint& point, const TileSize& size, double across, double along, double splits) {
    const double tiles = std::ceil(across / size.rows) * std::ceil(along / size.columns) * point.batch * splits;
    const double waves = std::ceil(tiles / point.cores);
    const double wave = point.cores * size.rows * size.columns / (point.m * point.n * point.batch);
    return {size.rows, size.columns, splits, waves, tiles, point.math_s * waves * wave / splits};
}

/// The longer side of a tile lies along the longer side of the result.
Tiling cut(const KernelPoint& point, const TileSize& size, double splits) {
    return cut(point, size, std::min(point.m, point.n), std::max(point.m, point.n), splits);
}

/// What CUTLASS's dispatch by rows comes to: up to 64 rows a half of the tile's rows and columns, up to 128 a half of its rows.
Tiling cut_by_rows(const KernelPoint& point) {
    constexpr double half = 64;
    const TileSize size{point.m <= 2 * half ? half : 2 * half, point.m <= half ? half : 2 * half};
    return cut(point, size, point.m, point.n, 1);
}

using Parts = std::array<double, kernel_parts>;

/// The parts' powers over that of the longest, so that the longest is 1, and what is not there costs no logarithm.
Parts powers_of(const Parts& parts, double longest, double p) {
    Parts powers{};
    for (std::size_t i = 0; i < kernel_parts; ++i) {
        if (parts[i] > 0) powers[i] = parts[i] == longest ? 1 : std::pow(parts[i] / longest, p);
    }
    return powers;
}

double sum_of(const Parts& parts) { return parts[0] + parts[1] + parts[2] + parts[3]; }

double norm_from(const Parts& powers, double longest, double p) {
    const double sum = sum_of(powers);
    return sum == 1 ? longest : longest * std::pow(sum, 1 / p);
}

double longest_of(const Parts& parts) { return std::max({parts[0], parts[1], parts[2], parts[3]}); }

/// No more than the norm, and quick: norms fall with p, and those of 1, 2 and 4 need no logarithm.
double least_norm(const Parts& parts, double p) {
    if (p <= 1) return sum_of(parts);
    if (p > 4) return longest_of(parts);
    Parts squares{};
    for (std::size_t i = 0; i < kernel_parts; ++i) squares[i] = parts[i] * parts[i];
    if (p <= 2) return std::sqrt(sum_of(squares));
    for (double& square : squares) square *= square;
    return std::sqrt(std::sqrt(sum_of(squares)));
}

/// What all tilings of a point have in common.
struct Uncut {
    const KernelLaw& law;
    const KernelPoint& point;
    double drawn_s = 0;  ///< of the memory: what few tiles stretch
    Parts parts{};

    Uncut(const KernelLaw& by, const KernelPoint& of);
    [[nodiscard]] Parts cut(const Tiling& tiling) const;
};

Uncut::Uncut(const KernelLaw& by, const KernelPoint& of) : law(by), point(of) {
    const double write = law.write > 0 ? law.write : law.memory;
    const double cached = cached_share(law, point);
    drawn_s = (1 - cached) * ((point.memory_s - point.write_s) / law.memory + point.write_s / write) +
              cached * point.memory_s / law.cache;
    parts = {point.math_s / law.math, point.vector_s / law.vector, drawn_s + point.again_s / law.reread, point.other_s};
}

Parts Uncut::cut(const Tiling& tiling) const {
    Parts cut = parts;
    cut[0] = math_of(point, tiling) / law.math;
    cut[2] += drawn_s * (stretch_of(law, point, tiling) - 1);
    if (tiling.splits > 1) cut[2] += tiling.splits * point.sums_s / law.partial;
    if (law.hidden) cut[3] += law.wave_s * tiling.waves;
    return cut;
}

}  // namespace

double rows_of_core(const KernelPoint& point) { return point.cores > 0 ? point.rows / point.cores : point.rows; }

bool heads_apart(const KernelLaw& law, const KernelPoint& point) {
    return law.share > 0 && point.heads > law.share && point.shared_s > 0;
}

KernelPoint apart(const KernelPoint& point) {
    KernelPoint each = point;
    each.m /= point.heads;
    each.batch *= point.heads;
    each.again_s = point.shared_s * (point.heads - 1);
    each.heads = 1;
    return each;
}

KernelPoint apart(const KernelLaw& law, const KernelPoint& point) {
    return heads_apart(law, point) ? apart(point) : point;
}

double math_of(const KernelPoint& point, const Tiling& tiling) {
    return tiling.waves > 0 ? tiling.math_s : point.math_s;
}

double cached_share(const KernelLaw& law, const KernelPoint& point) {
    if (!(law.warm > 0 && point.fill > 0)) return 0;
    const double over = point.fill / law.warm;
    const double cube = over * over * over;  // steep: of data that is used in turn a cache keeps all, or nothing
    return 1 / (1 + cube * cube);
}

double stretch_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling) {
    if (!(tiling.tiles > 0)) return 1;
    return std::max(1.0, law.busy * point.cores / tiling.tiles);
}

double overhead_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling) {
    double seconds = law.fixed_s + law.ramp_s * point.depth / tiling.splits;
    seconds += law.row_s * rows_of_core(point);
    if (tiling.splits > 1) seconds += law.split_s;
    if (tiling.waves > 1 && !law.hidden) seconds += law.wave_s * (tiling.waves - 1);
    return seconds;
}

Parts parts_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling) {
    return Uncut(law, point).cut(tiling);
}

double norm_of(const Parts& parts, double p) {
    const double longest = longest_of(parts);
    if (!(longest > 0) || std::isinf(p)) return longest;
    return norm_from(powers_of(parts, longest, p), longest, p);
}

double bound_of(const KernelPoint& point) {
    return std::max({point.math_s, point.vector_s, point.memory_s, point.other_s});
}

double bound_of(const KernelLaw& law, const KernelPoint& point) {
    KernelPoint cached = point;
    cached.memory_s *= 1 - cached_share(law, point) * (1 - 1 / std::max(law.cache, 1.0));
    return bound_of(cached);
}

double resident_bound_of(const KernelPoint& point) {
    KernelPoint resident = point;
    if (point.fill > 0 && point.fill <= 1) resident.memory_s /= fastest_cache;
    return bound_of(resident);
}

NormSlopes slopes_of(const Parts& parts, double p) {
    NormSlopes all;
    const double longest = longest_of(parts);
    all.norm = longest;
    if (!(longest > 0)) return all;
    if (std::isinf(p)) {
        for (std::size_t i = 0; i < kernel_parts; ++i) all.slopes[i] = parts[i] == longest ? 1 : 0;
        return all;
    }
    const Parts powers = powers_of(parts, longest, p);
    all.norm = norm_from(powers, longest, p);
    const double sum = sum_of(powers);
    for (std::size_t i = 0; i < kernel_parts; ++i) {
        if (parts[i] > 0) all.slopes[i] = powers[i] / sum * (all.norm / parts[i]);
    }
    return all;
}

double seconds_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling) {
    return overhead_of(law, point, tiling) + norm_of(parts_of(law, point, tiling), law.p);
}

Tilings tilings_of(const KernelPoint& point) {
    Tilings tilings;
    if (!can_tile(point)) return tilings;
    for (const TileSize& size : tile_sizes) {
        for (const double splits : splits_of_depth) {
            if (splits > 1 && point.depth < splits * least_depth) break;
            tilings.each[tilings.count++] = cut(point, size, splits);
        }
    }
    return tilings;
}

std::size_t cheapest(const KernelLaw& law, const KernelPoint& point, std::span<const Tiling> tilings,
                     std::size_t near) {
    const Uncut uncut(law, point);
    std::size_t best = near;
    double least = seconds_of(law, point, tilings[near]);
    for (std::size_t i = 0; i < tilings.size(); ++i) {
        if (i == near) continue;
        // most are out before all of their parts are known: a norm is no less than its longest part
        const double overhead = overhead_of(law, point, tilings[i]);
        if (overhead + math_of(point, tilings[i]) / law.math > least) continue;
        const Parts parts = uncut.cut(tilings[i]);
        if (overhead + least_norm(parts, law.p) > least) continue;
        const double seconds = overhead + norm_of(parts, law.p);
        if (seconds > least || (seconds == least && i > best)) continue;
        least = seconds;
        best = i;
    }
    return best;
}

Tiling tiling_of(const KernelLaw& law, const KernelPoint& point) {
    if (!law.tiled || !can_tile(point)) return {};
    if (law.by_rows) return cut_by_rows(point);
    const Tilings tilings = tilings_of(point);
    return tilings.each[cheapest(law, point, tilings)];
}

double seconds_of(const KernelLaw& law, const KernelPoint& point) {
    if (!(law.share > 0)) return seconds_of(law, point, tiling_of(law, point));
    const KernelPoint each = apart(law, point);
    return seconds_of(law, each, tiling_of(law, each));
}

}  // namespace roofline
