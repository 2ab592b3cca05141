// How an expected time came about, in words; and the bandwidths that nccl-tests print.
#pragma once

#include <string>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// What nccl-tests call the speed of a collective.
struct CollectiveBandwidth {
    double algorithm = 0;  ///< size over time; B/s
    double bus =
        0;  ///< times 2(n-1)/n for an all-reduce, (n-1)/n for the others, 1 for a permute: what a ring's link carries
};

/// `bytes` is the whole array; the size of an all-to-all and a permute is one member's part of it. Zero for no time.
[[nodiscard]] CollectiveBandwidth collective_bandwidth(CollectiveKind kind, std::int64_t members, double bytes,
                                                       double seconds);

/// "nccl 2.29.2", with the machines it was carried over from.
[[nodiscard]] std::string calibration_name(const ExpectedTime& expected);

/// What is expected of a kernel: the time, what its law was fitted to, the law with its numbers put in, its errors.
/// Empty where it has no law.
[[nodiscard]] std::vector<std::string> kernel_derivation(const Prediction& answer, std::size_t kernel);

/// One sentence for each law: what it was fitted to, the segment that decides with its numbers put in, its errors.
[[nodiscard]] std::vector<std::string> expected_derivation(const Prediction& answer, std::size_t message);

}  // namespace roofline::core
