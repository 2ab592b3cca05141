// The plan of a training job as the launch of a framework says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "import/launch/launch_values.hpp"
#include "plan/pipeline.hpp"
#include "plan/plan.hpp"
#include "program/adjoint.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// What a plan says of a training step. Without a value the launch does not say it.
struct TrainingLaunch {
    Plan plan;
    std::optional<std::int64_t> sequence;   ///< tokens of a sequence
    std::optional<std::int64_t> sequences;  ///< of a step, all chips together
    std::optional<std::int64_t> microbatches;
    Pipeline schedule;  ///< its name and virtual stages; without meaning for one stage
    std::optional<TrainingOptions> remat;
    std::optional<TrainingOptions> optimizer;
    bool numbers = false;                                ///< the launch says in which dtype matmuls are computed
    std::optional<Dtype> products;                       ///< that dtype, if it has fewer than 16 bits
    std::optional<std::vector<std::string>> overlapped;  ///< axes, besides replicas
    std::vector<std::string> notes;
};

/// What a launch leaves to the machine and the model.
struct LaunchJob {
    std::int64_t chips = 1;
    std::int64_t layers = 0;  ///< of the model
    bool experts = false;     ///< the model has experts
    std::int64_t slices = 1;  ///< that the chips form: nodes, or pods of TPUs
};

/// Returns the plan of a launch. Errors, at the place of the setting: degrees that do not divide the chips or one
/// another, batches that do not divide, settings that contradict one another or that no plan can express.
[[nodiscard]] Result<TrainingLaunch> training_launch(const LaunchValues& values, const LaunchJob& job);

/// What is known of a plan beside its launch.
struct LaunchRemarks {
    bool adapters = false;  ///< only low-rank adapters are trained
    bool fits = true;       ///< in the memory of a chip
};

/// Returns the launch of a plan, with a remark for each thing that it does not express.
[[nodiscard]] EmittedLaunch emit_training(const LaunchTable& table, const TrainingLaunch& launch, const LaunchJob& job,
                                          LaunchRemarks known = {});

}  // namespace roofline::core
