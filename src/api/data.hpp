// What the handles of the public interface hold.
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
#include "predict/prediction.hpp"
#include "predict/serve/serve_answer.hpp"
#include "predict/train/train_answer.hpp"
#include "program/program.hpp"
#include "roofline/roofline.hpp"

namespace roofline {

struct Machine::Data {
    core::Machine machine;
    core::Calibrations constants;  ///< of expected times; nothing is read of them yet, so that copies are cheap
};

struct System::Data {
    Machine machine;
    core::Slice slice;
    std::vector<core::MeshAxis> mesh;
};

struct Program::Data {
    std::string name;
    core::Program program;
    std::vector<std::string> notes;  ///< sizes that were overruled
};

struct Model::Data {
    core::Config config;
    std::optional<std::int64_t> sequence;  ///< that was asked for
    core::ModelAnswer account;
};

struct Prediction::Data {
    core::Prediction answer;
};

struct TrainingPrediction::Data {
    core::TrainAnswer answer;
};

struct ServingPrediction::Data {
    core::ServeAnswer answer;
};

/// The constants that one prediction reads from: its own, so that nothing is shared between threads.
[[nodiscard]] std::shared_ptr<core::Calibrations> constants_of(const System& system, bool calibrated);

/// What a pass or a program has of the public figures, in common to all predictions.
[[nodiscard]] std::vector<ResourceTime> resource_times(const core::Analysis& analysis);
[[nodiscard]] std::optional<Expected> expected_of(std::optional<double> seconds, std::optional<double> error);
[[nodiscard]] std::string bound_of(const core::Analysis& analysis);

}  // namespace roofline
