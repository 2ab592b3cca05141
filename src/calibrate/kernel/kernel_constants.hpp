// The constants of a kernel's law: one table behind the files that hold them, their rounding, their fit and their
// report.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <variant>

namespace roofline::core {

/// fixed + ramp * depth + ((math_s/math)^p + (vector_s/vector)^p + (memory_s/memory)^p + other_s^p)^(1/p). With no
/// fixed cost, no ramp and fractions of 1 it is the lower bound at p = infinity (everything overlaps) and the upper
/// bound at p = 1 (nothing does). Reads and writes may have fractions of their own, and what fits a cache another.
///
/// With `tiled`, a product's result is cut into tiles, and its depth into splits, that cores work off in whole waves:
/// the math is that of full waves, the ramp is that of one split, and there are the costs of further waves and of
/// adding up the splits. Of the tilings a library has, the law takes the cheapest; with `by_rows`, the one that the
/// rows alone decide.
///
/// A constant that has the value given here says nothing.
struct KernelLaw {
    double fixed_s = 0;  ///< what a kernel takes that has next to nothing to do: its launch, its first and last access
    double ramp_s =
        0;            ///< for every element of the depth: one result is added up in order, however many units there are
    double math = 1;  ///< fraction of the matrix units' rate that is achieved
    double vector = 1;
    double memory = 1;
    double p = std::numeric_limits<double>::infinity();  ///< at least 1
    double write = 0;                                    ///< the fraction for writes; 0: that of memory
    double warm = 0;   ///< share of the largest cache below which programs find their data there; 0: they never do
    double cache = 1;  ///< rate of that cache over the main memory's
    bool tiled = false;
    double split_s = 0;   ///< once, when the depth is split: a second kernel adds up
    double wave_s = 0;    ///< for every wave after the first: the start and the end of its tiles
    bool hidden = false;  ///< waves are a resource as others are: each takes wave_s, and overlaps with what p says
    double partial = 1;   ///< rate of partial results over the main memory's; above 1, since caches keep them
    double busy = 0;  ///< share of the cores that must have a tile for the memory's full rate; 0: any number draws it
    bool by_rows = false;  ///< the rows of the result alone decide its tiles, and the depth is never split
    double row_s = 0;      ///< for every row that a core works off, in kernels without products
    double share =
        0;  ///< the most heads that one read of keys and values serves; 0: any number. Of more, each reads them
    double reread = 1;  ///< rate of reading them again over the main memory's; above 1, since caches keep them

    bool operator==(const KernelLaw&) const = default;
};

/// The most that a cache's rate is taken to be over the main memory's.
inline constexpr double fastest_cache = 16;

/// A constant's place among those that least squares find: first the costs in seconds, then the slowdowns, each one
/// over a rate.
enum KernelSlope : std::size_t {
    fixed_slope,
    ramp_slope,
    split_slope,
    wave_slope,
    row_slope,
    math_slope,
    vector_slope,
    read_slope,
    write_slope,
    cache_slope,
    partial_slope,
    reread_slope,
    kernel_constant_count,  ///< also that of a constant with no place: the search tries some of its values
};
inline constexpr KernelSlope first_slowdown = math_slope;
inline constexpr KernelSlope no_slope = kernel_constant_count;

enum class ConstantKind {
    us,  ///< a cost in seconds, in files in microseconds
    ns,
    number,
    fraction,  ///< of a rate that nothing exceeds: at most 1, or expected times would be below their bound
    multiple,  ///< of the main memory's rate, which caches exceed, or of something else: above 0
    exponent,  ///< at least 1
    flag,
};

/// Everything the program knows about a constant but what the law does with it.
struct KernelConstant {
    std::string_view key;  ///< in files
    ConstantKind kind;
    std::variant<double KernelLaw::*, bool KernelLaw::*> member;
    bool (*used)(const KernelLaw&);  ///< a law of other terms has no place for it
    KernelSlope slope = no_slope;
    std::string_view name{};  ///< in answers of `roofline fit`; "": they leave it out
    double most = 64;         ///< that least squares take a multiple to be

    /// Of what is no flag.
    [[nodiscard]] double& of(KernelLaw& law) const { return law.**std::get_if<0>(&member); }
    [[nodiscard]] double of(const KernelLaw& law) const { return law.**std::get_if<0>(&member); }
    /// So many of a file's units are one of the law's.
    [[nodiscard]] double per_unit() const {
        return kind == ConstantKind::us ? 1e6 : kind == ConstantKind::ns ? 1e9 : 1;
    }
};

/// In the order of files.
inline constexpr auto kernel_constants = [] {
    using enum ConstantKind;
    using Law = KernelLaw;
    constexpr auto always = [](const Law&) { return true; };
    constexpr auto warm = [](const Law& law) { return law.warm > 0; };
    constexpr auto shared = [](const Law& law) { return law.share > 0; };
    constexpr auto tiled = [](const Law& law) { return law.tiled; };
    return std::to_array<KernelConstant>({
        {"fixed_us", us, &Law::fixed_s, always, fixed_slope, "fixed_s"},
        {"ramp_ns", ns, &Law::ramp_s, always, ramp_slope, "ramp_s"},
        {"row_us", us, &Law::row_s, always, row_slope},
        {"math", fraction, &Law::math, always, math_slope, "math"},
        {"vector", fraction, &Law::vector, always, vector_slope, "vector"},
        {"memory", fraction, &Law::memory, always, read_slope, "memory"},
        {"write", fraction, &Law::write, always, write_slope},
        {"warm", number, &Law::warm, always},
        {"cache", multiple, &Law::cache, warm, cache_slope, "", fastest_cache},
        {"share", multiple, &Law::share, always},
        {"reread", multiple, &Law::reread, shared, reread_slope},
        {"tiles", flag, &Law::tiled, always},
        {"by_rows", flag, &Law::by_rows, tiled},
        {"split_us", us, &Law::split_s, tiled, split_slope},
        {"wave_us", us, &Law::wave_s, tiled, wave_slope},
        {"waves_hidden", flag, &Law::hidden, tiled},
        {"partial", multiple, &Law::partial, tiled, partial_slope},
        {"busy", fraction, &Law::busy, tiled},
        {"p", exponent, &Law::p, always, no_slope, "p"},
    });
}();

}  // namespace roofline::core
