// Derivations of expected times in words, and bandwidths as nccl-tests define them.
#pragma once

#include <string>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Bandwidths of a collective as nccl-tests define them.
struct CollectiveBandwidth {
    double algorithm = 0;  ///< algorithm bandwidth: size over time; B/s
    /// Bus bandwidth: the algorithm bandwidth times 2(n-1)/n for an all-reduce, (n-1)/n for others, 1 for a permute. It
    /// is what a link of a ring carries.
    double bus = 0;
};

/// Returns the bandwidths of a collective over an array of `bytes`. As in nccl-tests, the size of an all-to-all or a
/// permute is the part of one member. Both are zero if `seconds` is.
[[nodiscard]] CollectiveBandwidth collective_bandwidth(CollectiveKind kind, std::int64_t members, double bytes,
                                                       double seconds);

/// Returns "nccl 2.29.2"; transferred calibrations also name the machines that they come from.
[[nodiscard]] std::string calibration_name(const ExpectedTime& expected);

/// Explains the expected time of a kernel: the time, the measurements that its model was fitted to, the model with its
/// numbers, and its errors. Empty if the kernel has no model.
[[nodiscard]] std::vector<std::string> kernel_derivation(const Prediction& answer, std::size_t kernel);

/// Explains the expected time of a collective, one sentence per model: the measurements that it was fitted to, the
/// active segment with its numbers, and its errors.
[[nodiscard]] std::vector<std::string> expected_derivation(const Prediction& answer, std::size_t message);

}  // namespace roofline::core
