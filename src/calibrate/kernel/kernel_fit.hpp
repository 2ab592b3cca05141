// Fitted kernel models: parameters, bands of heads or rows, shape corrections, the range of the measurements and the
// errors.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "calibrate/kernel/kernel_search.hpp"
#include "calibrate/kernel/size_factors.hpp"

namespace roofline::core {

/// A model with shape corrections.
struct SizedModel {
    KernelModel model;      ///< rounded to four digits, as calibration_text() writes it
    SizeFactors factors{};  ///< empty if they do not reduce the held-out error

    bool operator==(const SizedModel&) const = default;
};

/// The quantity by which the models of one class may differ. Libraries use different kernels for a single row, for as
/// many rows as one tile of a matmul has, and for more.
enum class BandsBy : std::uint8_t {
    heads,  ///< query heads with the same keys, in attention; the rows of the matmul if this number is unknown
    n,      ///< columns of a matmul's result: the size of a head in attention
    m,      ///< rows of a matmul's result
};
inline constexpr std::array<BandsBy, 3> all_bands{BandsBy::heads, BandsBy::n, BandsBy::m};
/// Returns the name of this quantity in calibration files and answers.
[[nodiscard]] constexpr std::string_view bands_name(BandsBy by) {
    return by == BandsBy::heads ? "heads" : by == BandsBy::n ? "n" : "m";
}
/// Returns the size of a kernel by which bands differ; 0 if it is unknown.
[[nodiscard]] double band_size(BandsBy by, const KernelPoint& point);
/// A model for sizes up to `most`.
struct BandModel {
    double most = 0;
    SizedModel sized;

    bool operator==(const BandModel&) const = default;
};

/// Range of a size among the kernels that a model was fitted to; 0 if it is unknown.
struct SizeRange {
    double least = 0;
    double most = 0;

    bool operator==(const SizeRange&) const = default;
};

/// A fitted kernel model: parameters for each band of sizes, the measurements that they were fitted to, and the errors.
struct KernelFit {
    KernelModel model;                   ///< for all kernels outside of the bands
    std::optional<KernelModel> first{};  ///< model of kernels that precede the others in the same measured times
    SizeFactors factors{};
    BandsBy by = BandsBy::heads;
    /// Windowed attention processes the whole KV cache: its depth is the length of the cache.
    bool whole = false;
    std::vector<BandModel> bands{};  ///< ascending; empty if they do not reduce the held-out error
    std::int64_t rows = 0;
    /// Measurements that must be wrong: faster than half their bound, or off by a factor of 30 from the model of
    /// the others.
    std::int64_t left_out = 0;
    double least_s = 0;  ///< range of the measured times
    double most_s = 0;
    std::array<SizeRange, size_count> ranges{};  ///< of the sizes of sizes_of()
    double keys_per_query = 0;                   ///< the most in measurements of attention; 0: unknown
    // means of |predicted - measured| / measured
    double error_fitted = 0;                  ///< on the measurements of the fit
    double error_held_out = 0;                ///< held-out by shape: each fifth is predicted by the model of the others
    double error_of_bound = 0;                ///< of the lower bound, which needs no parameters
    std::optional<double> error_transferred;  ///< on all measurements, by the model of the nearest calibrated machine
    /// Least launch overhead of the same library's matmuls on the machine, if the measurements of this model do not
    /// show its own; otherwise 0. Set by add_launches(), and in no file.
    double launch_s = 0;

    bool operator==(const KernelFit&) const = default;
};

/// Returns the sizes that are compared with a fit's ranges: those of the kernel itself, before its depth is split by
/// point_for(); 0 for a size that the kernel does not have.
[[nodiscard]] ProductSizes sizes_for_ranges(const KernelFit& fit, KernelPoint point);
/// Returns the number of keys over that of queries in attention; 0 if it is unknown.
[[nodiscard]] double keys_per_query(const KernelPoint& point);
/// Extends a range so that it contains the other.
void widen_range(SizeRange& range, const SizeRange& other);

/// Returns the point for which the fit's models are evaluated. If the depth exceeds the largest measured depth, the
/// library splits the depth and this is faster, it is divided into parts of that depth: each is split as the longest
/// measured one.
[[nodiscard]] KernelPoint point_for(const KernelFit& fit, KernelPoint point);

/// The model and the shape corrections that apply to a kernel's heads, columns or rows.
struct AppliedModel {
    const KernelModel& model;
    const SizeFactors& factors;
    double least = 0;         ///< smallest size that it applies to; 0: any
    double most = unlimited;  ///< largest size that it applies to

    static constexpr double unlimited = std::numeric_limits<double>::infinity();
};
/// Returns the model and the shape corrections that apply to a kernel.
[[nodiscard]] AppliedModel model_for(const KernelFit& fit, const KernelPoint& point);

/// Returns the size at which the model of a band has no more influence. Above the largest size of a band its model is
/// blended into the next one, so that the time is continuous although the two were fitted to different kernels: over a
/// factor of 2 for rows, and of 1.25 for heads and columns, because libraries compile kernels for particular numbers of
/// heads and columns. The blending ends at the largest size of the next band at the latest.
[[nodiscard]] double blend_end(BandsBy by, double most, double next_most);
/// The model of the band below that still influences a kernel.
struct BlendedModel {
    AppliedModel used;
    double share = 0;  ///< weight in the logarithm of the time: 1 at the largest size of its band, 0 at blend_end()
};
/// Returns the model of the band below if it still influences the kernel; otherwise empty.
[[nodiscard]] std::optional<BlendedModel> blended_model(const KernelFit& fit, const KernelPoint& point);

/// Returns the seconds of a kernel, as returned by point_for(), by one model: its time with the shape correction, but
/// not below its bound.
[[nodiscard]] double seconds_of(const AppliedModel& used, const KernelPoint& point);

/// Returns the kernel, as returned by point_for(), with as many rows as the next band's kernels have at least, if it is
/// expected to be faster with them; otherwise empty. A library may pad the rows and take these, so two to eight rows of
/// a plain matmul are no slower, whatever other columns and depths imply. Not so one row of a single matmul, for which
/// libraries have kernels of their own that may be four times as slow, and not where several matmuls at once were
/// measured, as of experts, of which more rows are more experts.
[[nodiscard]] std::optional<KernelPoint> padded_rows(const KernelFit& fit, const KernelPoint& point);

/// No published kernel takes less: of 86,000 the shortest are elementwise, 1 us on an A40 and 1.3 us on an H100. It
/// bounds models of large kernels, whose measurements do not show a launch.
inline constexpr double shortest_kernel_s = 1e-6;

/// Returns the least seconds that a fit predicts: shortest_kernel_s, or the launch overhead of the library if that is
/// longer, unless a shorter time was measured.
[[nodiscard]] double least_seconds_of(const KernelFit& fit);

/// Returns the seconds of a kernel by its model and by the one that is blended with it; at least least_seconds_of().
[[nodiscard]] double seconds_of(const KernelFit& fit, const KernelPoint& point);

/// Returns the seconds of all kernels that were timed together.
[[nodiscard]] double seconds_of(const KernelFit& fit, const TimedKernel& kernel);

/// Returns |predicted - measured| / measured of the whole measured time.
[[nodiscard]] double error_of(const KernelFit& fit, const TimedKernel& kernel);
/// Returns the sum of error_of() over the kernels.
[[nodiscard]] double sum_of_errors(const KernelFit& fit, const TimedKernels& kernels);

/// Returns the lower bound of all kernels that were timed together, without `known_s`.
[[nodiscard]] double bound_of(const TimedKernel& kernel);

/// Sets the ranges of the measurements, and the errors of the fit and of the bound on them.
void describe(KernelFit& fit, const TimedKernels& kernels);

/// Returns the deviations of the kernels from a fit, from which additional shape corrections of any grain are fitted.
[[nodiscard]] std::vector<SizedDeviation> deviations_from(const KernelFit& fit, const TimedKernels& kernels);

/// Rounds the parameters to the four digits of calibration files.
[[nodiscard]] KernelModel rounded(KernelModel model);

}  // namespace roofline::core
