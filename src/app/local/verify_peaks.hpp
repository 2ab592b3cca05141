// Verifies measured peaks with matmuls, which should come near them and must not exceed them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "machine/machine.hpp"
#include "measure/run/device.hpp"

namespace roofline::core {

/// A matmul compared with the peak of its dtype.
struct PeakVerification {
    Dtype dtype = Dtype::f32;
    std::int64_t size = 0;   ///< of the square matmul
    double flops_per_s = 0;  ///< 95th percentile of the undisturbed samples
    double fraction = 0;     ///< of the peak
    bool verified = false;   ///< it reached 90 % of the peak and did not exceed it
    std::string verdict;     ///< "verified", or the likely cause
};

/// Returns the rate that the register loops of a peak reach now, in FLOP/s; 0: unknown. Errors: interrupted.
using RegisterRate = std::function<Result<double>(Dtype)>;

/// Runs square matmuls in each dtype that has a matmul rate until one reaches the peak, and adds the result to the
/// machine's notes. Errors: interrupted; code `check_failed` if a result is wrong.
[[nodiscard]] Result<std::vector<PeakVerification>> verify_peaks(Machine& machine, Device& device, Effort effort,
                                                                 Progress& progress,
                                                                 const RegisterRate& register_rate = {});

/// Removes confidence A from measured rates that no matmul has verified: those of other dtypes, those whose matmul was
/// slower, and rates of vector units above what a verified matmul reached.
void downgrade_unverified(Machine& machine, const std::vector<PeakVerification>& verified);

/// The facts that the verdict on a peak depends on.
struct PeakComparison {
    double fraction = 0;               ///< of the peak, reached by the matmul
    double registers = 0;              ///< of the peak, reached by register loops at the same time; 0: unknown
    bool disturbed = false;            ///< other work disturbed the matmul
    std::vector<std::string> notes{};  ///< notes of the device about its kernels
};

/// Returns "verified", or the likely cause.
[[nodiscard]] std::string verdict_of(const PeakComparison& matmul);

/// Returns the size, a multiple of 256, of a square matmul that takes some milliseconds at this rate, as long as a
/// sample of the peak.
[[nodiscard]] std::int64_t size_of_sample(double flops_per_s);

}  // namespace roofline::core
