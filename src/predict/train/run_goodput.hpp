// What interruptions make of a predicted training run.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "model/model.hpp"
#include "predict/train/train_answer.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// How a run is interrupted and recovers, as far as the question says.
struct RecoveryQuestion {
    double bandwidth = 0;                 ///< bytes/s to the storage of checkpoints, of all chips together
    std::optional<double> interruptions;  ///< per chip and second; empty: the published rate of the machine
    std::optional<double> restart_s;      ///< empty: as published
    bool blocking = true;                 ///< see Recovery
};

/// Returns the bytes of a checkpoint: the trained parameters and the states of the optimizer, once. Errors: an
/// operation without a derivative; counts beyond 127 bits.
[[nodiscard]] Result<double> checkpoint_bytes(const Model& model, const TrainingOptions& options);

/// Returns how a run with steps of `step_s` seconds recovers on a machine: as the question says, else as published.
/// Empty if no rate of interruptions is known.
[[nodiscard]] std::optional<Recovery> recovery_of(const RecoveryQuestion& question, const Machine& machine,
                                                  double step_s);

/// Adds the goodput to an answer with a cost, and notes that say what was assumed, or what is missing for a goodput.
/// Errors: those of checkpoint_bytes() and goodput_of().
[[nodiscard]] Status add_goodput(TrainAnswer& answer, const std::optional<RecoveryQuestion>& question);

}  // namespace roofline::core
