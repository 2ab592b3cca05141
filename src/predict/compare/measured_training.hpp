// Training runs of measurement tables, each priced as a training step on the slice that it ran on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "import/trained_models.hpp"
#include "import/training_table.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/train/train_step.hpp"

namespace roofline::core {

/// Compares training steps with their predictions. It keeps models and priced steps between rows.
class MeasuredTrainingRuns {
public:
    /// Makes a comparison of measurements on `systems` with expected times by the models in `calibrations`. Errors:
    /// those of the built-in data.
    [[nodiscard]] static Result<MeasuredTrainingRuns> make(MeasuredSystems systems, Calibrations calibrations);

    /// Returns a row with its prediction. The message of the error is the reason why they cannot be compared.
    [[nodiscard]] Result<Comparison> compare(const MeasuredTraining& table_row);

    /// Returns the reason why the row's memory is not compared although its time may be; "" if it is compared.
    [[nodiscard]] std::string why_memory_skipped(const MeasuredTraining& row) const;

    /// Returns the rates used so far, each with its machine.
    [[nodiscard]] const std::vector<std::pair<std::string, Rate>>& rates() const { return rates_; }

private:
    /// The part of a priced step that is kept.
    struct Priced {
        StepTimes times;
        TrainingMemory memory;
    };
    using Key = std::tuple<std::string, std::string, std::string>;  ///< model, slice, set-up

    MeasuredTrainingRuns(MeasuredSystems systems, TrainedModels models, StepPricing pricing)
        : systems_(std::move(systems)), models_(std::move(models)), pricing_(std::move(pricing)) {}

    /// The model of a row, which lives as long as this object.
    [[nodiscard]] const Result<Model>& model(const MeasuredTraining& row);
    [[nodiscard]] Result<Model> build(const MeasuredTraining& row) const;
    [[nodiscard]] Result<Priced> price(const MeasuredTraining& row, const Model& model, const TrainSetup& setup,
                                       const MeasuredSystem& system);

    MeasuredSystems systems_;
    TrainedModels models_;
    StepPricing pricing_;
    std::map<std::string, Result<Model>> built_;
    std::map<Key, Result<Priced>> priced_;
    std::vector<std::pair<std::string, Rate>> rates_;
};

/// Returns how a row's model was trained, as `roofline train` takes it. `habits` are those of its publisher. The
/// message of the error is the reason why the row is insufficient.
[[nodiscard]] Result<TrainSetup> setup_of(const MeasuredTraining& row, const TrainerHabits& habits = {});

}  // namespace roofline::core
