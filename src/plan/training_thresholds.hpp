// From where on a plan's communication hides behind what its chips compute.
#pragma once

#include <string>
#include <vector>

#include "bound/analysis.hpp"
#include "network/system.hpp"
#include "plan/plan.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// What an answer of `roofline train` is compared with.
struct PlanThreshold {
    std::string key;   ///< of JSON: "tokens_per_chip", "tensor"
    std::string what;  ///< in words
    double value = 0;
    double now = 0;  ///< what the plan has
};

/// Thresholds of a step that has been priced, from its own collectives and products:
/// - tokens a chip, of one microbatch, at which collectives of weights and gradients over `data` and `fsdp` take as long as the
///   matrix units: these collectives do not grow with the batch, and products do. Scaling book, chapter 5: C / W.
/// - the degree of `tensor` at which its collectives take as long: on so many chips the tokens of each grow with the degree, and
///   so do they, and products do not. Scaling book, chapter 5: F W / C.
/// Each where the plan has such an axis. Latency is not in them: where it decides, they are too small.
[[nodiscard]] std::vector<PlanThreshold> training_thresholds(const Program& program, const Analysis& total,
                                                             const System& system, const Plan& plan,
                                                             double tokens_per_chip);

/// Seconds that all collectives over any of these axes take, one after the other.
[[nodiscard]] double collective_seconds(const Program& program, const Analysis& total, const System& system,
                                        const std::vector<std::string>& axes);

}  // namespace roofline::core
