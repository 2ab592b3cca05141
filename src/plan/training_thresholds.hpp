// Thresholds from which on the communication of a plan overlaps completely with computation.
#pragma once

#include <string>
#include <vector>

#include "bound/analysis.hpp"
#include "network/system.hpp"
#include "plan/plan.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// A value that an answer of `roofline train` is compared with.
struct PlanThreshold {
    std::string key;   ///< key in JSON: "tokens_per_chip", "tensor"
    std::string what;  ///< the threshold in words
    double value = 0;
    double now = 0;  ///< the value of the plan
};

/// Returns the thresholds of a priced step, from its own collectives and contractions:
/// - tokens per chip, of one micro-batch, at which collectives of weights and gradients over `data` and `fsdp` take as
///   long as the matrix units, because these collectives do not grow with the batch and contractions do. Scaling book,
///   chapter 5: C / W.
/// - the degree of `tensor` at which its collectives take as long: with that many chips the tokens of each grow with
///   the degree, and so do the collectives, but contractions do not. Scaling book, chapter 5: F W / C.
/// Each is given if the plan has such an axis. Latency is not included; where it is the bottleneck, the thresholds are
/// too small.
[[nodiscard]] std::vector<PlanThreshold> training_thresholds(const Program& program, const Analysis& total,
                                                             const System& system, const Plan& plan,
                                                             double tokens_per_chip);

/// Returns the seconds that all collectives over any of these axes take, one after the other.
[[nodiscard]] double collective_seconds(const Program& program, const Analysis& total, const System& system,
                                        const std::vector<std::string>& axes);

}  // namespace roofline::core
