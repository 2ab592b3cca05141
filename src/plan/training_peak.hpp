// The peak that the MFU of training is relative to.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// The peak of the matrix units that compute a model's matmuls.
struct TrainingPeak {
    double rate = 0;            ///< FLOP/s of one chip
    Dtype dtype = Dtype::bf16;  ///< of the units
};

/// Returns the peak of matmuls in `products`, the dtype that matmuls with parameters are computed in, or in
/// sixteen_bits_of() the machine if they are computed as stored. If the machine has no units of it, the peak is that of
/// units of a wider dtype. No utilization relative to it exceeds 1. Errors: a machine without such units, or without
/// their rate.
[[nodiscard]] Result<TrainingPeak> training_peak(const Machine& machine, std::optional<Dtype> products);

}  // namespace roofline::core
