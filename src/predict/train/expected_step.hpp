// The parts of a chip's training step, predicted by the models of its kernels and collectives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/step/step_model.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns the sum that a kernel's time belongs to: `narrow_s` for matmuls in fewer than 16 bits, `promoted_s` if the
/// matrix units also accumulate these in fewer than 32 bits.
[[nodiscard]] double StepParts::* step_part_of(const KernelKey& key, const Machine& machine);
/// Returns 0 if the power limit of the chip is unknown or it has no peak in bf16.
[[nodiscard]] double flops_per_joule(const Machine& machine);
/// Returns whether a kernel, which has a model, multiplies with the weights of experts.
[[nodiscard]] bool of_experts(const ProgramModels& models, std::size_t kernel);
[[nodiscard]] bool is_over_replicas(const Message& message);
/// Returns whether the framework overlaps the collectives of all axes of this message with matmuls.
[[nodiscard]] bool is_overlapped(const Message& message, const std::vector<std::string>& overlapped);

/// Returns whether steps were measured on this kind of machine: on TPUs as one program, on GPUs any others. On other
/// machines the overhead of frameworks is not known.
[[nodiscard]] bool steps_were_measured(const Machine& machine, bool compiled);
/// Returns whether a step has collectives without measurements, priced at the links' rates, on a kind of machine on
/// which no step was measured either. The sum of such parts is a bound, not an expected time. The model of compiled
/// steps has a measured fraction of these rates instead.
[[nodiscard]] bool rests_on_link_rates(const StepParts& parts, const Machine& machine);

/// Returns the parts of a priced step. Collectives over `data` or `fsdp` belong to gradients and sharded weights, for
/// which no kernel waits immediately; those of one kind form one exchange of all their bytes, because frameworks
/// collect them in buckets. Collectives whose axes are all in `overlapped` also run beside matmuls, each as one
/// exchange. A collective without a model takes its time at published rates. Empty if a kernel has no model, the
/// machine is not calibrated, or a size is unknown.
[[nodiscard]] std::optional<StepParts> step_parts(const Prediction& step,
                                                  const std::vector<std::string>& overlapped = {});

}  // namespace roofline::core
