// The goodput of a training run: failures interrupt it, and it goes on from its last checkpoint.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "plan/training_cost.hpp"

namespace roofline::core {

/// How often a run is interrupted, and what it does about that.
struct Recovery {
    double interruptions = 0;  ///< per chip and second, above 0; each stops all chips
    double bandwidth = 0;      ///< bytes/s at which all chips together write a checkpoint, above 0
    /// Seconds from an interruption until training goes on: detection, replacement, start, reading the checkpoint.
    double restart_s = 0;
    bool blocking = true;  ///< training waits while a checkpoint is written; otherwise it goes on meanwhile
    double step_s = 0;     ///< of a training step, at whose end a checkpoint is taken; 0: not known
};

/// Expected values of a run with interruptions. `writing`, `rework` and `restarts` are fractions of `seconds`; together
/// with `fraction` they are 1.
struct Goodput {
    double fraction = 1;          ///< time of the run without interruptions and checkpoints over `seconds`
    double seconds = 0;           ///< calendar time
    double between_s = 0;         ///< mean time between interruptions of the whole run
    double interruptions = 0;     ///< number of them
    double checkpoint_bytes = 0;  ///< parameters and optimizer states, once
    double checkpoint_s = 0;      ///< time to write them
    double interval_s = 0;        ///< training from one checkpoint to the next
    double writing = 0;           ///< waiting for checkpoints that were completed
    double rework = 0;            ///< training and writing that an interruption made useless
    double restarts = 0;          ///< restarting
};

/// Returns the seconds of training between blocking checkpoints that minimize Daly's expected time exactly: the root
/// tau of (1 - tau/M) e^(tau/M) = e^(-delta/M), where M is `between_s` and delta is `checkpoint_s`, both above 0.
/// Young's interval, sqrt(2 delta M) (1974, doi 10.1145/361147.361115), is its limit for small delta.
[[nodiscard]] double best_interval(double checkpoint_s, double between_s);

/// Returns the goodput of a run that takes `ideal_s` seconds without interruptions and checkpoints. Interruptions are a
/// Poisson process, also while the run restarts. With blocking checkpoints the expected time is that of Daly 2006 (doi
/// 10.1016/j.future.2004.11.016), the complete cost function, M e^(R/M) (e^((tau + delta)/M) - 1) T/tau, at
/// best_interval(), but at least after one step and, in a shorter run, once at its end. Otherwise it is
/// M e^((R + delta)/M) (e^(tau/M) - 1) T/tau for tau >= delta, because an interruption also loses the training during
/// the last write; the shortest interval, delta or a step, is the best (docs/method/goodput.md derives it). Errors:
/// interruptions so frequent that the run takes more than a million times `ideal_s`.
[[nodiscard]] Result<Goodput> goodput_of(const Recovery& recovery, double checkpoint_bytes, double ideal_s,
                                         std::int64_t chips);

/// Returns the cost of the run with interruptions: it occupies its chips for the calendar time.
[[nodiscard]] TrainingCost cost_with(const Goodput& goodput, TrainingCost cost);

}  // namespace roofline::core
