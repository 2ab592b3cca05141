// What a framework does, as fields of the question how a model is trained: for measured runs, for a given plan and for
// the search of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/trainers.hpp"
#include "machine/machine.hpp"
#include "plan/framework_memory.hpp"
#include "plan/training_memory.hpp"
#include "predict/train/train.hpp"
#include "predict/train/train_step.hpp"

namespace roofline::core {

/// Returns the framework that `words` name, "nemo-25.09"; with `toml` the newest one which that file describes, whose
/// name `words` are. Errors: those of Trainers::framework() and of the file; a file that describes none.
[[nodiscard]] Result<Framework> framework_named(std::string_view words, std::string_view toml = {});

/// Returns the framework whose times are predicted where none is named.
[[nodiscard]] Result<std::optional<Framework>> default_framework(const Machine& machine);
/// Sets that framework as the one whose times are predicted: how its steps run, and nothing else of it.
[[nodiscard]] Status use_default_framework(TrainQuestion& question);

/// Applies what a framework does to a set-up. What holds only under some plans is resolved by framework_memory().
void apply_habits(const TrainerHabits& habits, TrainSetup& setup);

/// Makes a framework that was named part of a question whose options are set. The optimizer of the set-up is the
/// framework's only if `optimizer` says so: with an f32 master copy, as all of those that are known have, and with
/// gradients and operations as this one has them.
void use_framework(Framework framework, bool optimizer, TrainQuestion& question);

/// Returns the recomputation that those who use a framework call selective.
[[nodiscard]] Remat selective_remat(const TrainerHabits& habits);

/// Returns the habits that take memory under the set-up's plan: FSDP's units where a plan has FSDP, a flat optimizer
/// where it has ZeRO-1 or 2.
[[nodiscard]] FrameworkHabits framework_memory(const TrainSetup& setup);

/// Returns a note if the tensors of a step fit, but not with what a caching allocator adds, where the framework is a
/// default one, whose allocator is not counted, and has one.
[[nodiscard]] std::optional<std::string> allocator_note(const std::optional<Framework>& framework,
                                                        const TrainingMemory& memory);

/// Returns the set-up whose program has the tensors that are held, of a set-up whose program is timed.
[[nodiscard]] TrainSetup as_held(TrainSetup setup);

/// Returns the bytes that a framework says a chip holds: of what the habits' `memory` or another word counts,
/// "allocated", "reserved" or "used". `reserved` is the factor of StepModel. Without the capacity as a limit.
[[nodiscard]] double reported_bytes(const TrainingMemory& memory, std::string_view what, const TrainerHabits& habits,
                                    double reserved);

}  // namespace roofline::core
