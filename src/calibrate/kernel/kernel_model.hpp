// The kernel model: the expected time of a kernel is the sum of fixed costs and the p-norm of its resources' times at
// the achieved rates.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "calibrate/kernel/kernel_constants.hpp"

namespace roofline::core {

/// The input of the model for one kernel: its work, given as times at the machine's rates. The model's parameters are
/// fractions of these rates, so that expected times follow them.
struct KernelPoint {
    double math_s = 0;    ///< of the matrix units, or of the units that replace them
    double vector_s = 0;  ///< of the vector units
    double memory_s = 0;  ///< of the main memory
    double other_s = 0;   ///< of all other levels together: caches that tiles are read from, the link to the host
    double depth = 0;     ///< elements that are added for one result of the deepest matmul: K
    double write_s = 0;   ///< part of memory_s for writes
    double fill = 0;      ///< traffic of the whole program over the capacity of the largest cache; 0: no cache is known
    // The following four members describe the only matmul or, in attention, the last one, of probabilities and values.
    // They are 0 if there is none.
    double m = 0;      ///< rows of the result
    double n = 0;      ///< columns of the result
    double batch = 0;  ///< number of matmuls of this size
    /// Time to write and read one set of partial results with 4 bytes per element in main memory.
    double partial_sums_s = 0;
    double cores = 0;       ///< number of cores that tiles are distributed over; 0: unknown
    double memory_Bps = 0;  ///< rate of main memory; 0: unknown
    double rows = 0;        ///< of a kernel without matmuls: all dimensions but the last of its tensor
    double columns = 0;     ///< the last dimension
    // The following members describe attention.
    bool whole_rows = false;   ///< a core computes whole rows of the result, with any number of columns
    double heads = 0;          ///< query heads with the same keys and values, a factor of m; 0: unknown
    double shared_read_s = 0;  ///< part of memory_s for these keys and values
    double cache = 0;  ///< length of the KV cache of which the depth is a window; 0: the depth is the whole cache
    double keys = 0;   ///< of a backward pass that also sums over heads: the depth without these; 0: the depth
    /// Time to move the results of its matmuls that only the kernel itself reads through main memory once, with 4 bytes
    /// per element.
    double inner_s = 0;
    /// Time of the matrix units, if they are square arrays, for the rows and columns by which contracted dimensions and
    /// columns of a result fall short of whole sides.
    double padding_s = 0;
    bool on_array = false;  ///< its matmuls run on square arrays, whose sides sizes are padded to
    double group =
        0;  ///< of a matmul per group: rows of a group, be they rows of its result or its depth; 0: no groups
    double reread_s = 0;  ///< time in main memory if every further head rereads them; set by separate_heads()

    bool operator==(const KernelPoint&) const = default;
};

/// A division of a matmul into tiles, which are the elements of the result that one core computes at a time, and into
/// splits of the depth.
struct Tiling {
    double rows = 0;
    double columns = 0;
    double splits = 1;
    double waves = 0;   ///< number of waves for all tiles; 0: the kernel is not tiled
    double tiles = 0;   ///< of all splits together
    double math_s = 0;  ///< time of the matrix units with whole tiles and whole waves
    double part = 1;    ///< fraction of the depth in one split

    bool operator==(const Tiling&) const = default;
};

/// Returns whether more heads have the same keys and values than share one read of them in the model. False in a
/// backward pass, because the bytes of keys and values are not known there.
[[nodiscard]] bool needs_separate_heads(const KernelModel& model, const KernelPoint& point);

/// Returns the point with each head as a separate matmul that reads keys and values again.
[[nodiscard]] KernelPoint separate_heads(const KernelPoint& point);

/// Returns the point as the model processes it, with heads separate or together. The functions below that take a tiling
/// require such a point.
[[nodiscard]] KernelPoint separate_heads(const KernelModel& model, const KernelPoint& point);

/// The maximum number of tilings of a matmul.
inline constexpr std::size_t max_tilings = 27;
/// A list of tilings, without allocation.
struct Tilings {
    std::array<Tiling, max_tilings> each;
    std::size_t count = 0;

    [[nodiscard]] operator std::span<const Tiling>() const { return {each.data(), count}; }
};
/// Returns all tilings of a matmul; none for other kernels. They do not depend on the model's parameters.
[[nodiscard]] Tilings tilings_of(const KernelPoint& point);

/// Returns the seconds of a kernel with its cheapest tiling.
[[nodiscard]] double seconds_of(const KernelModel& model, const KernelPoint& point);
/// Returns the seconds of a kernel with the given tiling.
[[nodiscard]] double seconds_of(const KernelModel& model, const KernelPoint& point, const Tiling& tiling);

/// Returns the tiling that the number of a matmul's rows determines.
[[nodiscard]] Tiling tiling_by_rows(const KernelPoint& point);

/// Returns the cheapest tiling; not tiled if the model has no tiles or the kernel is not a matmul.
[[nodiscard]] Tiling tiling_of(const KernelModel& model, const KernelPoint& point);

/// Returns the rows per core; all rows if the number of cores is unknown.
[[nodiscard]] inline double rows_of_core(const KernelPoint& point) {
    return point.cores > 0 ? point.rows / point.cores : point.rows;
}

/// Returns the seconds of the matrix units with whole tiles and whole waves.
[[nodiscard]] inline double math_of(const KernelPoint& point, const Tiling& tiling) {
    return tiling.waves > 0 ? tiling.math_s : point.math_s;
}

/// Returns the fraction of its traffic that a kernel finds in the cache: one half if the program fills the fraction
/// `warm` of the cache.
[[nodiscard]] double cached_share(const KernelModel& model, const KernelPoint& point);

/// Returns the matmul time that the model adds to that of whole tiles: whole sides of a systolic array if it is
/// `padded`, and the rows of tiles that two groups share.
[[nodiscard]] inline double added_math_of(const KernelModel& model, const KernelPoint& point) {
    const double shared = point.group > 0 ? point.math_s * model.straddle / point.group : 0;
    return (model.padded ? point.padding_s : 0) + shared;
}
/// Returns the seconds of the matrix units as the model takes them, at the machine's rate.
[[nodiscard]] inline double math_of(const KernelModel& model, const KernelPoint& point, const Tiling& tiling) {
    return math_of(point, tiling) + added_math_of(model, point);
}

/// Returns the factor by which too few tiles increase the memory time, because each core reads no faster than core_Bps;
/// at least 1. All cores together achieve the full memory rate of any machine, also of one whose memory is faster than
/// the measured one.
[[nodiscard]] inline double stretch_of(const KernelModel& model, const KernelPoint& point, const Tiling& tiling) {
    if (!(model.core_Bps > 0 && tiling.tiles > 0)) return 1;
    const double needed_cores = std::min(point.memory_Bps / model.core_Bps, point.cores);
    return std::max(1.0, needed_cores / tiling.tiles);
}

/// Returns the terms outside of the norm: fixed cost, ramp, splits, waves and rows.
[[nodiscard]] double overhead_of(const KernelModel& model, const KernelPoint& point, const Tiling& tiling);

/// The number of terms in the norm.
inline constexpr std::size_t kernel_parts = 4;
/// Returns the terms of the norm in seconds at the achieved rates: math, vector, memory, other (with the waves if they
/// overlap).
[[nodiscard]] std::array<double, kernel_parts> parts_of(const KernelModel& model, const KernelPoint& point,
                                                        const Tiling& tiling);

/// Returns (sum of parts^p)^(1/p) of non-negative numbers without overflow.
[[nodiscard]] double norm_of(const std::array<double, kernel_parts>& parts, double p);

/// Returns the lower bound: the longest part at the machine's rates.
[[nodiscard]] double bound_of(const KernelPoint& point);
/// As above, with the data that the model finds in the cache at the cache's rate.
[[nodiscard]] double bound_of(const KernelModel& model, const KernelPoint& point);
/// Returns the lower bound of a kernel that finds all of its data in a cache if it fits; otherwise the lower bound.
[[nodiscard]] double resident_bound_of(const KernelPoint& point);

/// A norm with the powers that its derivatives need.
struct Norm {
    double norm = 0;
    std::array<double, kernel_parts> powers{};  ///< of the parts, divided by that of the longest
};
/// Returns the derivatives of a norm with respect to its parts: (part / norm)^(p - 1).
[[nodiscard]] std::array<double, kernel_parts> slopes_of(const Norm& norm,
                                                         const std::array<double, kernel_parts>& parts);

/// The time of a point with one tiling.
struct TilingTime {
    std::size_t index = 0;  ///< of the tiling in the given list
    double overhead_s = 0;
    std::array<double, kernel_parts> parts{};
    Norm norm{};

    [[nodiscard]] double seconds() const { return overhead_s + norm.norm; }
};
/// Returns the cheapest of some tilings of tilings_of(point), and the first of equal ones. A list with a single tiling
/// is allowed. The search is faster if the time of tiling `near` is close to that of the cheapest.
[[nodiscard]] TilingTime cheapest(const KernelModel& model, const KernelPoint& point, std::span<const Tiling> tilings,
                                  std::size_t near = 0);

}  // namespace roofline::core
