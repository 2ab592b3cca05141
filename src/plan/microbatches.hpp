// A step's batch in parts: forward and backward several times, the optimizer once.
#pragma once

#include <cstdint>

#include "program/adjoint.hpp"

namespace roofline {

/// The step of a part of the batch as that of `count` parts: what stands before the optimizer in a `repeat`. Parameters that are
/// shared out are gathered, and gradients reduced, in every part. Adding gradients up is taken to be part of reducing them.
[[nodiscard]] Program in_microbatches(const TrainingProgram& step, std::int64_t count);

}  // namespace roofline
