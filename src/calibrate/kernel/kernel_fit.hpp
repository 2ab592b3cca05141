// Laws of kernels as they are kept: constants by heads or rows, factors by size, what they were fitted to and how far
// off they are.
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

/// A law with the factors on its times.
struct SizedLaw {
    KernelLaw law;          ///< as calibration_text() writes it: to four digits
    SizeFactors factors{};  ///< none where they improve no held out row

    bool operator==(const SizedLaw&) const = default;
};

/// What laws of one class may differ by. Libraries have other kernels for one row than for as many as one tile of a
/// product takes, and for more.
enum class BandsBy : std::uint8_t {
    heads,  ///< of queries to the same keys, in attention; where that is not known, the rows of the product
    n,      ///< the columns of a product's result: the size of a head, in attention
    m,      ///< the rows of a product's result
};
inline constexpr std::array<BandsBy, 3> all_bands{BandsBy::heads, BandsBy::n, BandsBy::m};
/// As calibration files and answers have it.
[[nodiscard]] constexpr std::string_view bands_name(BandsBy by) {
    return by == BandsBy::heads ? "heads" : by == BandsBy::n ? "n" : "m";
}
/// How many of them a kernel has; 0 where it is not known.
[[nodiscard]] double band_size(BandsBy by, const KernelPoint& point);
/// A law for at most so many of them.
struct BandLaw {
    double most = 0;
    SizedLaw sized;

    bool operator==(const BandLaw&) const = default;
};

/// The least and the greatest of a size among the kernels that a law was fitted to; 0 where it is not known.
struct SizeRange {
    double least = 0;
    double most = 0;

    bool operator==(const SizeRange&) const = default;
};

struct KernelFit {
    KernelLaw law;                     ///< of all kernels that no band has a law for
    std::optional<KernelLaw> first{};  ///< of kernels that ran first in the same times
    SizeFactors factors{};
    BandsBy by = BandsBy::heads;
    /// Attention behind windows is worked off by all of the cache: its depth is that of the cache.
    bool whole = false;
    std::vector<BandLaw> bands{};  ///< ascending; none where they make held out rows no nearer
    std::int64_t rows = 0;
    std::int64_t left_out =
        0;               ///< that cannot be right: faster than half their bound, 30 times off the law of the others
    double least_s = 0;  ///< of the measured times
    double most_s = 0;
    std::array<SizeRange, size_count> ranges{};  ///< of the sizes of sizes_of()
    // means of |predicted - measured| / measured
    double error_fitted = 0;              ///< of the rows that it was fitted to
    double error_held_out = 0;            ///< of every fifth in turn, by shape, by the law of the others
    double error_of_bound = 0;            ///< of the lower bound: what is had without constants
    std::optional<double> error_carried;  ///< of all rows, by the law of the machine's nearest relative

    bool operator==(const KernelFit&) const = default;
};

/// Sizes as a fit's ranges have them: those of the kernel itself, and not of parts that its depth is worked off in; 0
/// for one that the kernel does not tell.
[[nodiscard]] ProductSizes asked_sizes(const KernelFit& fit, KernelPoint point);
/// Widens a range to hold the other as well.
void widen_range(SizeRange& range, const SizeRange& other);

/// The point as the fit's laws take it. A depth beyond the greatest that was measured is worked off in parts of that
/// depth where the law's library splits depths and that is faster: as many splits as there were of the longest, each no
/// longer, and further ones.
[[nodiscard]] KernelPoint point_for(const KernelFit& fit, KernelPoint point);

/// The law that a kernel has by its heads, columns or rows, and its factors.
struct LawInUse {
    const KernelLaw& law;
    const SizeFactors& factors;
    double least = 0;         ///< that it is for; 0: any
    double most = unlimited;  ///< that it is for

    static constexpr double unlimited = std::numeric_limits<double>::infinity();
};
[[nodiscard]] LawInUse law_for(const KernelFit& fit, const KernelPoint& point);

/// A band's law fades out beyond the most that it is for, so that no size is where one law ends and another, fitted to
/// other kernels, begins: of rows up to twice as many, of heads and their columns up to a quarter more, since kernels
/// are compiled for some of these and the next size that is measured has others. At the latest at the most of the next
/// band.
[[nodiscard]] double faded_at(BandsBy by, double most, double next_most);
/// The law of the band below that a kernel still has a share of.
struct FadingLaw {
    LawInUse used;
    double share = 0;  ///< of the logarithm of the time: 1 at the most of its band, 0 at faded_at()
};
[[nodiscard]] std::optional<FadingLaw> fading_law(const KernelFit& fit, const KernelPoint& point);

/// Seconds of a kernel, as point_for() has it, by one law: its times the factor of the kernel's size, which never puts
/// it below its bound.
[[nodiscard]] double seconds_of(const LawInUse& used, const KernelPoint& point);

/// Seconds of a kernel by its law, and by the one that fades out.
[[nodiscard]] double seconds_of(const KernelFit& fit, const KernelPoint& point);

/// Seconds of all that was timed together.
[[nodiscard]] double seconds_of(const KernelFit& fit, const TimedKernel& kernel);

/// |predicted - measured| / measured of the whole time.
[[nodiscard]] double error_of(const KernelFit& fit, const TimedKernel& kernel);
[[nodiscard]] double sum_of_errors(const KernelFit& fit, const TimedKernels& kernels);

/// The lower bound of all that was timed together, without what is known.
[[nodiscard]] double bound_of(const TimedKernel& kernel);

/// Fills in what the fit was fitted to, and how far off it and the bound are there.
void describe(KernelFit& fit, const TimedKernels& kernels);

/// What kernels tell of factors on top of a fit's own: of those of any grain.
[[nodiscard]] std::vector<SizedDeviation> deviations_from(const KernelFit& fit, const TimedKernels& kernels);

/// Constants to the four digits that calibration files have.
[[nodiscard]] KernelLaw rounded(KernelLaw law);

}  // namespace roofline::core
