// What a chip does in a training step, by the laws of its kernels and collectives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/step/step_law.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// The parts of a step that has been priced. Collectives over `data` or `fsdp` are those of gradients and of shared
/// weights, which nothing waits for at once: those of a kind are one exchange of all their bytes, as frameworks fill
/// buckets. Collectives over axes that are all `overlapped` run beside products as well, each for itself. A collective
/// that has no law is there at the rates of its wires. None where a kernel has no law, or nothing is
/// calibrated, or a size is not known.
[[nodiscard]] std::optional<StepParts> step_parts(const Prediction& step,
                                                  const std::vector<std::string>& overlapped = {});

}  // namespace roofline::core
