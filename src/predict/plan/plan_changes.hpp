// What would change a search's answer: how sensitive the best plan is to each figure, and where another one beats it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "predict/train/train.hpp"

namespace roofline::core {

/// d log(time of a step) / d log(figure): -1 if the time is inversely proportional to the figure.
struct Elasticity {
    std::string path;  ///< of a figure of the machine, "hbm.bandwidth"; "batch-tokens"; "seq"
    double value = 0;
};

/// A value of a figure beyond which another plan is faster than the best one.
struct Flip {
    std::string path;
    double factor = 1;    ///< of the figure
    std::string at;       ///< its value, "230 GB/s"
    TrainAnswer other{};  ///< that plan, as the machine is
};

struct PlanChanges {
    std::vector<Elasticity> elasticities;  ///< the greatest first
    std::vector<Flip> flips;               ///< the nearest first
};

/// A plan that needs more memory than a chip has, and would be faster.
struct FasterPlan {
    double bytes = 0;  ///< that a chip lacks
    double seconds = 0;
};

/// Returns the figures of a slice's machine that times depend on: the peak of a dtype, HBM and the networks.
[[nodiscard]] std::vector<std::string> changed_figures(const Slice& slice, Dtype dtype);

/// Returns what would change the answer to a question whose best plan and next best ones are these. The machine's peak
/// of the matmuls' dtype, its HBM and its networks are changed by 5 % and the step laid out again, or with 5 % more
/// memory one of the plans taken that would be `faster`. A batch of twice the tokens has twice the micro-batches; the
/// same tokens in sequences twice as long tell how much of the time is proportional to the length. Where that says that
/// another plan, which is no near-tie, may become as fast within a factor of four of a figure, the factor is found by
/// laying both out there. Errors: those of predict_training().
[[nodiscard]] Result<PlanChanges> plan_changes(const TrainQuestion& question, const TrainAnswer& best,
                                               std::span<const TrainAnswer* const> others,
                                               std::span<const FasterPlan> faster,
                                               const std::shared_ptr<Calibrations>& calibrations, std::size_t threads);

}  // namespace roofline::core
