// Training runs of measurement tables, each priced as the step that it is on the slice that it ran on.
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

class MeasuredTrainings {
public:
    /// Rows ran on `systems`; their expected times are by `calibrations`. Errors: those of the data of the program.
    [[nodiscard]] static Result<MeasuredTrainings> make(MeasuredSystems systems, Calibrations calibrations);

    /// The row beside its prediction. The error's message is the reason for which it cannot be compared.
    [[nodiscard]] Result<Comparison> compare(const MeasuredTraining& row);

    /// Why the row's memory is not compared although its time may be; "" where it is.
    [[nodiscard]] std::string memory_unsaid(const MeasuredTraining& row) const;

    /// The rates used so far, with the machine that each belongs to.
    [[nodiscard]] const std::vector<std::pair<std::string, Rate>>& rates() const { return rates_; }

private:
    /// What is kept of a priced step.
    struct Priced {
        StepTimes times;
        TrainingMemory memory;
    };
    using Key = std::tuple<std::string, std::string, std::string>;  ///< model, slice, set-up

    MeasuredTrainings(MeasuredSystems systems, TrainedModels models, StepPricing pricing)
        : systems_(std::move(systems)), models_(std::move(models)), pricing_(std::move(pricing)) {}

    /// Lives as long as this object.
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

/// How a row trained its model, as `roofline train` takes it; `habits` are its publisher's. The error's message is the
/// reason for which the row says too little.
[[nodiscard]] Result<TrainSetup> setup_of(const MeasuredTraining& row, const TrainerHabits& habits = {});

}  // namespace roofline::core
