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

bool can_tile(const KernelLaw& law, const KernelPoint& point) {
    return law.tiled && point.m > 0 && point.n > 0 && point.batch > 0 && point.cores > 0;
}

Tiling cut(const KernelPoint& point, const TileSize& size, double across, double along, double splits) {
    const double tiles = std::ceil(across / size.rows) * std::ceil(along / size.columns) * point.batch * splits;
    return {size.rows, size.columns, splits, std::ceil(tiles / point.cores), tiles};
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

double longest(const std::array<double, kernel_parts>& parts) {
    return std::max({parts[0], parts[1], parts[2], parts[3]});
}

}  // namespace

double rows_of_core(const KernelPoint& point) { return point.cores > 0 ? point.rows / point.cores : point.rows; }

KernelPoint apart(const KernelLaw& law, const KernelPoint& point) {
    if (!(law.share > 0 && point.heads > law.share)) return point;
    KernelPoint each = point;
    each.m /= point.heads;
    each.batch *= point.heads;
    each.again_s = point.shared_s * (point.heads - 1);
    each.heads = 1;
    return each;
}

double math_of(const KernelPoint& point, const Tiling& tiling) {
    if (!(tiling.waves > 0)) return point.math_s;
    const double wave = point.cores * tiling.rows * tiling.columns / (point.m * point.n * point.batch);
    return point.math_s * tiling.waves * wave / tiling.splits;
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
    if (tiling.waves > 1) seconds += law.wave_s * (tiling.waves - 1);
    return seconds;
}

std::array<double, kernel_parts> parts_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling) {
    const double write = law.write > 0 ? law.write : law.memory;
    const double cached = cached_share(law, point);
    double memory = (1 - cached) * ((point.memory_s - point.write_s) / law.memory + point.write_s / write) +
                    cached * point.memory_s / law.cache;
    memory *= stretch_of(law, point, tiling);
    if (tiling.splits > 1) memory += tiling.splits * point.sums_s / law.partial;
    memory += point.again_s / law.reread;
    return {math_of(point, tiling) / law.math, point.vector_s / law.vector, memory, point.other_s};
}

double norm_of(const std::array<double, kernel_parts>& parts, double p) {
    const double most = *std::max_element(parts.begin(), parts.end());
    if (!(most > 0) || std::isinf(p)) return most;
    double sum = 0;
    for (const double part : parts) {
        // the longest is 1, and what is not there costs no logarithm
        if (part > 0) sum += part == most ? 1 : std::pow(part / most, p);
    }
    return sum == 1 ? most : most * std::pow(sum, 1 / p);
}

double seconds_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling) {
    return overhead_of(law, point, tiling) + norm_of(parts_of(law, point, tiling), law.p);
}

Tiling tiling_of(const KernelLaw& law, const KernelPoint& point) {
    if (!can_tile(law, point)) return {};
    if (law.by_rows) return cut_by_rows(point);
    Tiling best;
    double least = std::numeric_limits<double>::infinity();
    const auto whole = parts_of(law, point, {});
    for (const TileSize& size : tile_sizes) {
        for (const double splits : splits_of_depth) {
            if (splits > 1 && point.depth < splits * least_depth) break;
            const Tiling tiling = cut(point, size, splits);
            auto parts = whole;
            parts[0] = math_of(point, tiling) / law.math;
            parts[2] *= stretch_of(law, point, tiling);
            if (splits > 1) parts[2] += splits * point.sums_s / law.partial;
            const double overhead = overhead_of(law, point, tiling);
            if (overhead + longest(parts) >= least) continue;  // a norm is no less than its longest part
            const double seconds = overhead + norm_of(parts, law.p);
            if (seconds >= least) continue;
            least = seconds;
            best = tiling;
        }
    }
    return best;
}

double seconds_of(const KernelLaw& law, const KernelPoint& point) {
    if (!(law.share > 0)) return seconds_of(law, point, tiling_of(law, point));
    const KernelPoint each = apart(law, point);
    return seconds_of(law, each, tiling_of(law, each));
}

}  // namespace roofline
