// Whether the roofs that were measured hold: real matrix products come near them, and nothing exceeds them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "machine/machine.hpp"
#include "measure/run/device.hpp"

namespace roofline::core {

/// A real product beside the roof of its dtype.
struct PeakVerification {
    Dtype dtype = Dtype::f32;
    std::int64_t size = 0;   ///< of the square product
    double flops_per_s = 0;  ///< the 95th percentile of clean samples
    double fraction = 0;     ///< of the roof
    bool verified = false;   ///< 90 % of it are reached, and it is not exceeded
    std::string verdict;     ///< "verified", or what is likely to be the matter
};

/// What the loops over registers that a roof was measured with reach now, in FLOPs a second; 0: not known. Errors: interrupted.
using RegisterRate = std::function<Result<double>(Dtype)>;

/// Runs square products in each dtype that has a matmul rate, until one of them reaches the roof, and says in the machine's notes
/// whether it holds. Errors: interrupted; code `check_failed` when a product is wrong.
[[nodiscard]] Result<std::vector<PeakVerification>> verify_peaks(Machine& machine, Device& device, Effort effort,
                                                                 Progress& progress,
                                                                 const RegisterRate& register_rate = {});

/// Takes confidence A from measured rates that no real product has come near: those of other dtypes, those whose product stayed behind,
/// and rates of vector units beyond what a verified product reached.
void doubt_unverified(Machine& machine, const std::vector<PeakVerification>& verified);

/// What a product beside its roof may be judged by.
struct ProductBesideRoof {
    double fraction = 0;               ///< of the roof that it reached
    double registers = 0;              ///< of the roof that loops over registers reached beside it; 0: not known
    bool disturbed = false;            ///< it did not have its cores to itself
    std::vector<std::string> notes{};  ///< what the device says of its kernels
};

/// "verified", or what is likely to be the matter.
[[nodiscard]] std::string verdict_of(const ProductBesideRoof& product);

/// Of a square product that takes some milliseconds at this rate, as long as a sample of what it is compared with: a multiple of 256.
[[nodiscard]] std::int64_t size_of_sample(double flops_per_s);

}  // namespace roofline::core
