// What one chip holds while it trains, by kind.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "network/system.hpp"
#include "plan/framework_memory.hpp"
#include "plan/live_memory.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// Bytes of one chip.
struct TrainingMemory {
    double params = 0;
    double gradients = 0;
    double optimizer = 0;
    double activations = 0;  ///< kept from the forward to the backward pass, of all microbatches in flight
    double working = 0;      ///< what else is held when most is: results that wait for a reader, gathered weights
    double apart =
        0;  ///< reserved besides by a caching allocator, for what does not fit into anything else; not in total()
    std::optional<double> capacity;  ///< of the chip's main memory; none: not known

    [[nodiscard]] double total() const { return params + gradients + optimizer + activations + working; }
    [[nodiscard]] bool fits() const { return !capacity || total() <= *capacity; }
};

/// What a chip holds of a step's tensors. `local` is the step on one chip and `types` how its values lie, as lay_out() gives them.
/// Parameters, gradients and states are flattened before they are shared out, so that they divide exactly; activations are
/// shares of tensors, padded. What is held besides is that of live_memory(), with
/// what stays gathered of FSDP's units, or of an unfused optimizer what its operations make, where that is more. An allocator that keeps
/// blocks has both, for the optimizer's tensors go over many parameters; and where the gradients' norm is that of f32 copies of each
/// (`copied_norm`), whose blocks are too small for what follows, also these, as far as activations' blocks do not hold them. `stay` is that of the layout. Errors: counts beyond 127 bits; a
/// size that is not known.
[[nodiscard]] Result<TrainingMemory> training_memory(const TrainingProgram& step, const Program& local,
                                                     const std::vector<TensorType>& types, const System& system,
                                                     const InFlight& in_flight, const FrameworkHabits& habits = {},
                                                     const StayingAxes& stay = {});

}  // namespace roofline::core
