// The memory of one chip during training, by kind.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "network/system.hpp"
#include "plan/framework_memory.hpp"
#include "plan/live_memory.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// Bytes on one chip.
struct TrainingMemory {
    double params = 0;
    double gradients = 0;
    double optimizer = 0;
    double activations = 0;  ///< kept from the forward to the backward pass, of all micro-batches in flight
    double working = 0;      ///< everything else held at the peak: results that are still to be read, gathered weights
    double extra_reserved =
        0;  ///< additionally reserved by a caching allocator, in blocks that fit nothing else; not in total()
    double reserved = 1;             ///< see FrameworkHabits
    double context_bytes = 0;        ///< likewise
    std::optional<double> capacity;  ///< of the chip's main memory; empty: not known

    [[nodiscard]] double tensors() const { return params + gradients + optimizer + activations + working; }
    /// What an allocator and a process take beyond tensors.
    [[nodiscard]] double overhead() const { return tensors() * (reserved - 1) + context_bytes; }
    [[nodiscard]] double total() const { return tensors() + overhead(); }
    [[nodiscard]] bool fits() const { return !capacity || total() <= *capacity; }
};

/// Additional memory of an optimizer of plain tensor operations: for each element that a chip updates an f32 copy of
/// its gradient, unless the gradient is f32, the root of its second moment, and the denominator of the update. Returns
/// the states whose shards have these elements, each with the bytes per element.
[[nodiscard]] std::vector<std::pair<const StepTensor*, double>> unfused_tensors(const TrainingProgram& step);

/// Returns what a chip holds of a step's tensors. `local` is the step on one chip and `types` are the shardings of its
/// values, as lay_out() gives them. Parameters, gradients and states are flattened before they are sharded, so they
/// divide exactly; activations are padded shards. The rest is that of live_memory(), with the FSDP units that stay
/// gathered, or the results of an unfused optimizer's operations if these are larger. An allocator that keeps blocks
/// holds both, because the tensors of the optimizer span many parameters; and if the norm of the gradients is computed
/// from f32 copies (`copied_norm`), whose blocks are too small for what follows, also these, as far as the blocks of
/// activations do not hold them. `stay` is that of the layout. Errors: counts beyond 127 bits; a size that is not
/// known.
[[nodiscard]] Result<TrainingMemory> training_memory(const TrainingProgram& step, const Program& local,
                                                     const std::vector<TensorType>& types, const System& system,
                                                     const InFlight& in_flight, const FrameworkHabits& habits = {},
                                                     const StayingAxes& stay = {});

}  // namespace roofline::core
