// The parameters of a kernel model: the table that defines them for files, rounding, fits and reports.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <variant>

namespace roofline::core {

/// The kernel model: its parameters, and the terms that it has. The expected time in seconds is
///     fixed + ramp * depth + ((math_s/math)^p + (vector_s/vector)^p + (memory_s/memory)^p + other_s^p)^(1/p).
/// With fixed and ramp 0 and fractions of 1 it is the lower bound for p = infinity (perfect overlap) and the no-overlap
/// time for p = 1. Reads and writes may have separate fractions, and data that fits into a cache may have another.
///
/// With `tiled`, the result of a matmul is divided into tiles and its depth into splits, which the cores compute in
/// whole waves: the matmul time is that of full waves, the ramp is that of one split, and further waves and the
/// addition of the splits have a cost. The model uses the cheapest of a library's tilings, or with `by_rows` the one
/// that the number of rows determines.
///
/// A parameter with its default value has no effect.
struct KernelModel {
    double fixed_s = 0;  ///< time of a kernel without work: its launch, its first and last memory access
    /// Per element of the depth: the elements of one result are added sequentially, regardless of the number of units.
    double ramp_s = 0;
    double math = 1;  ///< achieved fraction of the matrix units' rate
    double vector = 1;
    double memory = 1;
    double p = std::numeric_limits<double>::infinity();  ///< at least 1
    double write = 0;                                    ///< fraction for writes; 0: that of memory
    double warm = 0;   ///< fraction of the largest cache below which programs find their data there; 0: never
    double cache = 1;  ///< rate of that cache over that of main memory
    bool tiled = false;
    double split_s = 0;   ///< once, if the depth is split: a second kernel adds the partial results
    double wave_s = 0;    ///< for every wave after the first: start and end of its tiles
    bool hidden = false;  ///< waves are a separate resource: each takes wave_s, and p determines the overlap
    double partial = 1;   ///< rate of partial results over that of main memory; above 1 because caches hold them
    /// Maximum rate at which one core reads and writes main memory; 0: a single core achieves the full memory rate. It
    /// is absolute, because it depends on the requests that a core has in flight, not on the memory of a faster chip.
    double core_Bps = 0;
    bool by_rows = false;  ///< the number of rows determines the tiles, and the depth is never split
    double row_s = 0;      ///< for every row of a core, in kernels without matmuls
    /// Largest number of heads that share one read of keys and values; more heads read them separately. 0: any number.
    double share = 0;
    /// Rate of these repeated reads over that of main memory; above 1 because caches hold the data.
    double reread = 1;
    /// Rate of results that another statement of the kernel reads (scores, the halves of a gated unit) over that of
    /// main memory, in libraries whose kernel is several: 4 bytes per element cross it. 0: they stay in the cores.
    double inner = 0;
    /// Rows by which each group of a grouped matmul takes longer, because groups begin inside of tiles; 0: they do not.
    double straddle = 0;
    bool padded = false;  ///< the matmul time is that of whole rows and columns of a systolic array

    bool operator==(const KernelModel&) const = default;
};

/// Upper limit of a cache's rate over that of main memory in fits.
inline constexpr double fastest_cache = 16;

/// Index of a parameter among those that least squares determine: first the times in seconds, then the slowdowns, which
/// are reciprocals of rates.
enum LeastSquaresIndex : std::size_t {
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
    inner_slope,
    /// Also the index of parameters that least squares do not determine: the search tries some values.
    kernel_constant_count,
};
/// The index from which on parameters are slowdowns.
inline constexpr LeastSquaresIndex first_slowdown = math_slope;
/// The index of parameters that least squares do not determine.
inline constexpr LeastSquaresIndex not_in_least_squares = kernel_constant_count;

/// The unit and the valid range of a parameter.
enum class ConstantKind {
    us,  ///< a time in seconds; microseconds in files
    ns,
    GBps,  ///< a rate in B/s; GB/s in files
    number,
    /// A fraction of a rate that cannot be exceeded: at most 1, because otherwise expected times could be below their
    /// bound.
    fraction,
    multiple,  ///< a multiple of main memory's rate, which caches exceed, or of another quantity: above 0
    exponent,  ///< at least 1
    flag,
};

/// Everything about a parameter except its effect in the model.
struct KernelConstant {
    std::string_view key;  ///< in files
    ConstantKind kind;
    std::variant<double KernelModel::*, bool KernelModel::*> member;
    bool (*used)(const KernelModel&);  ///< whether a model with these terms has the parameter
    LeastSquaresIndex slope = not_in_least_squares;
    std::string_view name{};  ///< in the output of `roofline fit`; "": omitted
    double most = 64;         ///< upper limit of a multiple in least squares
    double least = 0.25;      ///< lower limit of a multiple in least squares

    /// Only for parameters that are not flags.
    [[nodiscard]] double& of(KernelModel& model) const { return model.**std::get_if<0>(&member); }
    [[nodiscard]] double of(const KernelModel& model) const { return model.**std::get_if<0>(&member); }
    /// Units of the file per unit of the model.
    [[nodiscard]] double per_unit() const {
        return kind == ConstantKind::us ? 1e6 : kind == ConstantKind::ns ? 1e9 : kind == ConstantKind::GBps ? 1e-9 : 1;
    }
};

/// The table of all parameters, in the order of files.
inline constexpr auto kernel_constants = [] {
    using enum ConstantKind;
    using Parameters = KernelModel;
    constexpr auto always = [](const Parameters&) { return true; };
    constexpr auto warm = [](const Parameters& model) { return model.warm > 0; };
    constexpr auto shared = [](const Parameters& model) { return model.share > 0; };
    constexpr auto tiled = [](const Parameters& model) { return model.tiled; };
    return std::to_array<KernelConstant>({
        {"fixed_us", us, &Parameters::fixed_s, always, fixed_slope, "fixed_s"},
        {"ramp_ns", ns, &Parameters::ramp_s, always, ramp_slope, "ramp_s"},
        {"row_us", us, &Parameters::row_s, always, row_slope},
        {"math", fraction, &Parameters::math, always, math_slope, "math"},
        {"vector", fraction, &Parameters::vector, always, vector_slope, "vector"},
        {"memory", fraction, &Parameters::memory, always, read_slope, "memory"},
        {"write", fraction, &Parameters::write, always, write_slope},
        {"warm", number, &Parameters::warm, always},
        {"cache", multiple, &Parameters::cache, warm, cache_slope, "", fastest_cache},
        {"share", multiple, &Parameters::share, always},
        {"reread", multiple, &Parameters::reread, shared, reread_slope},
        {"inner", multiple, &Parameters::inner, always, inner_slope, "", 16, 1.0 / 32},
        {"straddle", number, &Parameters::straddle, always},
        {"padded", flag, &Parameters::padded, always},
        {"tiles", flag, &Parameters::tiled, always},
        {"by_rows", flag, &Parameters::by_rows, tiled},
        {"split_us", us, &Parameters::split_s, tiled, split_slope},
        {"wave_us", us, &Parameters::wave_s, tiled, wave_slope},
        {"waves_hidden", flag, &Parameters::hidden, tiled},
        {"partial", multiple, &Parameters::partial, tiled, partial_slope},
        {"core_GBps", GBps, &Parameters::core_Bps, tiled},
        {"p", exponent, &Parameters::p, always, not_in_least_squares, "p"},
    });
}();

}  // namespace roofline::core
