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

#include "app/measured_systems.hpp"
#include "app/train_step.hpp"
#include "calibrate/comparison.hpp"
#include "import/trained_models.hpp"
#include "import/training_table.hpp"

namespace roofline {

class MeasuredTrainings {
public:
    /// What --on, --set and the calibration options of a request mean. Errors: those of MeasuredSystems and of files.
    [[nodiscard]] static Result<MeasuredTrainings> make(const std::vector<MachineRef>& machines,
                                                        const std::vector<std::string>& sets,
                                                        const CalibrationRef& calibration);

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

/// How a row trained its model, as `roofline train` takes it; `habits` are its publisher's. The error's message is the reason for which the row says too little.
[[nodiscard]] Result<TrainSetup> setup_of(const MeasuredTraining& row, const TrainerHabits& habits = {});

}  // namespace roofline
