// The law of a kernel's expected time: fixed costs, and the p-norm of what its resources take at the rates it achieves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "calibrate/kernel/kernel_constants.hpp"

namespace roofline::core {

/// What one kernel asks for, as the time that takes at the machine's rates. So constants are fractions of those rates,
/// and follow them when they change.
struct KernelPoint {
    double math_s = 0;    ///< of the matrix units, or of what stands in for them
    double vector_s = 0;  ///< of the vector units
    double memory_s = 0;  ///< of the main memory
    double other_s = 0;   ///< of all other levels together: caches that tiles cross, the link to the host
    double depth = 0;     ///< elements that one result of its deepest product adds up: K of a matmul
    double write_s = 0;   ///< the part of memory_s that writes
    double fill = 0;  ///< what the whole program reads and writes over what the largest cache holds; 0: no cache known
    // of the only product, or in attention the last one, of probabilities and values; 0 when there is none
    double m = 0;        ///< rows of the result
    double n = 0;        ///< its columns
    double batch = 0;    ///< products of that size
    double sums_s = 0;   ///< main memory's time for one set of partial results in 4 bytes, written and read back
    double cores = 0;    ///< that tiles of the result are spread over; 0: not known
    double rows = 0;     ///< of a kernel without products: all but the last dimension of what it works on
    double columns = 0;  ///< and the last one
    // of attention
    bool whole_rows = false;  ///< a core makes whole rows of the result, however many columns that are
    double heads = 0;         ///< of queries that read the same keys and values: a part of m; 0: not known
    double shared_s = 0;      ///< the part of memory_s that those keys and values are
    double cache = 0;         ///< keys of the cache that the depth is the window of; 0: the depth is all of it
    double keys = 0;          ///< of a backward pass that sums over heads, too: the depth without these; 0: the depth
    double again_s = 0;       ///< what reading them again for every further head would take the main memory: apart()

    bool operator==(const KernelPoint&) const = default;
};

/// How a product is cut: the elements of the result that one core adds up at a time, and the parts of the depth.
struct Tiling {
    double rows = 0;
    double columns = 0;
    double splits = 1;
    double waves = 0;   ///< in which the cores work off all tiles; 0: the kernel is not cut
    double tiles = 0;   ///< of all splits together
    double math_s = 0;  ///< the matrix units' with whole tiles and whole waves
    double part = 1;    ///< of the depth in one split

    bool operator==(const Tiling&) const = default;
};

/// True where more heads read the same keys and values than the law's library lets share them, and it is known how many
/// bytes these are: not so in a backward pass.
[[nodiscard]] bool heads_apart(const KernelLaw& law, const KernelPoint& point);

/// The point with each head a product of its own that reads keys and values again.
[[nodiscard]] KernelPoint apart(const KernelPoint& point);

/// The point as the law's library works it off, heads apart or not. What takes a tiling below takes such a point.
[[nodiscard]] KernelPoint apart(const KernelLaw& law, const KernelPoint& point);

/// All the ways to cut a product; none where there is no such product. No constant of a law changes them.
inline constexpr std::size_t most_tilings = 27;
struct Tilings {
    std::array<Tiling, most_tilings> each;
    std::size_t count = 0;

    [[nodiscard]] operator std::span<const Tiling>() const { return {each.data(), count}; }
};
[[nodiscard]] Tilings tilings_of(const KernelPoint& point);

/// Seconds, of the cheapest tiling.
[[nodiscard]] double seconds_of(const KernelLaw& law, const KernelPoint& point);
[[nodiscard]] double seconds_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling);

/// The tiling that the rows alone decide, of a product.
[[nodiscard]] Tiling tiling_by_rows(const KernelPoint& point);

/// The cheapest tiling; uncut where the law is not tiled or the kernel has no such product.
[[nodiscard]] Tiling tiling_of(const KernelLaw& law, const KernelPoint& point);

/// Rows that every core works off; all of them where the number of cores is not known.
[[nodiscard]] inline double rows_of_core(const KernelPoint& point) {
    return point.cores > 0 ? point.rows / point.cores : point.rows;
}

/// Seconds of the matrix units with whole tiles and whole waves.
[[nodiscard]] inline double math_of(const KernelPoint& point, const Tiling& tiling) {
    return tiling.waves > 0 ? tiling.math_s : point.math_s;
}

/// The share of its traffic that a kernel finds in the cache: one half where the program fills as much of it as `warm`
/// says.
[[nodiscard]] double cached_share(const KernelLaw& law, const KernelPoint& point);

/// By how much fewer tiles than cores stretch the memory's time; 1 or more.
[[nodiscard]] inline double stretch_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling) {
    return tiling.tiles > 0 ? std::max(1.0, law.busy * point.cores / tiling.tiles) : 1;
}

/// What is added to the norm: fixed costs, the ramp, splits, waves and rows.
[[nodiscard]] double overhead_of(const KernelLaw& law, const KernelPoint& point, const Tiling& tiling);

/// The parts of the norm, each at the rate that is achieved: math, vector, memory, other, with waves where they are
/// hidden.
inline constexpr std::size_t kernel_parts = 4;
[[nodiscard]] std::array<double, kernel_parts> parts_of(const KernelLaw& law, const KernelPoint& point,
                                                        const Tiling& tiling);

/// (sum of parts^p)^(1/p) of numbers that are not negative, without overflow on the way.
[[nodiscard]] double norm_of(const std::array<double, kernel_parts>& parts, double p);

/// The lower bound: the longest part, at the machine's rates.
[[nodiscard]] double bound_of(const KernelPoint& point);
/// The same where what the law finds in the cache comes at the cache's rate.
[[nodiscard]] double bound_of(const KernelLaw& law, const KernelPoint& point);
/// What no kernel is faster than that finds all of its data in a cache, where they fit one; else the lower bound.
[[nodiscard]] double resident_bound_of(const KernelPoint& point);

/// A norm with what tells its slopes.
struct Norm {
    double norm = 0;
    std::array<double, kernel_parts> powers{};  ///< of the parts, over that of the longest
};
/// By how much a norm changes with each of its parts: (part / norm)^(p - 1).
[[nodiscard]] std::array<double, kernel_parts> slopes_of(const Norm& norm,
                                                         const std::array<double, kernel_parts>& parts);

/// What a law says of a point that is cut in one way.
struct TilingTime {
    std::size_t index = 0;  ///< of the tiling among those asked about
    double overhead_s = 0;
    std::array<double, kernel_parts> parts{};
    Norm norm{};

    [[nodiscard]] double seconds() const { return overhead_s + norm.norm; }
};
/// The cheapest of some of tilings_of(point), made before; of equals the first. One alone is what is asked about. The
/// nearer `near` is to the cheapest in time, the sooner it is found.
[[nodiscard]] TilingTime cheapest(const KernelLaw& law, const KernelPoint& point, std::span<const Tiling> tilings,
                                  std::size_t near = 0);

}  // namespace roofline::core
