// The data behind the handles of the public interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "machine/machine.hpp"
#include "model/config.hpp"
#include "model/model.hpp"
#include "network/slice.hpp"
#include "predict/model/model_answer.hpp"
#include "predict/plan/plan_jobs.hpp"
#include "predict/prediction.hpp"
#include "predict/serve/serve_answer.hpp"
#include "predict/train/train_answer.hpp"
#include "program/program.hpp"
#include "roofline/roofline.hpp"

namespace roofline {

struct Machine::Data {
    core::Machine machine;
    core::Calibrations constants;  ///< loaded on first use, so that a copy made before is cheap
};

struct System::Data {
    Machine machine;
    core::Slice slice;
    std::vector<core::MeshAxis> mesh;
};

struct Program::Data {
    std::string name;
    core::Program program;
    std::vector<std::string> notes;  ///< about sizes that were overridden
};

struct Model::Data {
    core::Config config;
    std::optional<std::int64_t> sequence;  ///< set by Model::with_sequence()
    core::ModelAnswer account;
};

struct Prediction::Data {
    core::Prediction answer;
};

struct TrainingPrediction::Data {
    core::TrainAnswer answer;
};

struct PlanSearchAnswer::Data {
    core::PlanJobsAnswer answer;
};

struct ServingPrediction::Data {
    core::ServeAnswer answer;
};

/// Returns a copy of the calibrations for one prediction. Calibrations load lazily, so that threads must not share
/// them.
[[nodiscard]] std::shared_ptr<core::Calibrations> calibrations_of(const System& system, bool calibrated);

/// Parts of the public answers that all kinds of predictions have in common.
[[nodiscard]] std::vector<ResourceTime> resource_times(const core::Analysis& analysis);
[[nodiscard]] std::optional<Expected> expected_of(std::optional<double> seconds, std::optional<double> error);
[[nodiscard]] std::string bound_of(const core::Analysis& analysis);

}  // namespace roofline
