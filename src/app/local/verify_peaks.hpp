// Whether the roofs that were measured hold: real matrix products come near them, and nothing exceeds them.
#pragma once

#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "machine/machine.hpp"
#include "measure/run/device.hpp"

namespace roofline {

/// A real product beside the roof of its dtype.
struct PeakVerification {
    Dtype dtype = Dtype::f32;
    std::int64_t size = 0;   ///< of the square product
    double flops_per_s = 0;  ///< the 95th percentile of clean samples
    double fraction = 0;     ///< of the roof
    bool verified = false;   ///< 90 % of it are reached, and it is not exceeded
    std::string verdict;     ///< "verified", or what is likely to be the matter
};

/// Runs a large square product in each dtype that has a matmul rate, and says in the machine's notes whether the roof holds.
/// Errors: interrupted; code `check_failed` when a product is wrong.
[[nodiscard]] Result<std::vector<PeakVerification>> verify_peaks(Machine& machine, Device& device, Effort effort,
                                                                 Progress& progress);

/// What is the matter with such a fraction of the roof. `notes`: what the device says of its kernels.
[[nodiscard]] std::string verdict_of(double fraction, bool disturbed, const std::vector<std::string>& notes);

}  // namespace roofline
