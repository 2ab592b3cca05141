// The parts of a chip's training step, predicted by the models of its kernels and collectives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/step/step_model.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns the parts of a priced step. Collectives over `data` or `fsdp` belong to gradients and sharded weights, for
/// which no kernel waits immediately; those of one kind form one exchange of all their bytes, because frameworks
/// collect them in buckets. Collectives whose axes are all in `overlapped` also run beside matmuls, each as one
/// exchange. A collective without a model takes its time at published rates. Empty if a kernel has no model, the
/// machine is not calibrated, or a size is unknown.
[[nodiscard]] std::optional<StepParts> step_parts(const Prediction& step,
                                                  const std::vector<std::string>& overlapped = {});

}  // namespace roofline::core
