// What one chip holds while it trains, by kind.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "network/system.hpp"
#include "plan/live_memory.hpp"
#include "program/adjoint.hpp"

namespace roofline {

/// Bytes of one chip.
struct TrainingMemory {
    double params = 0;
    double gradients = 0;
    double optimizer = 0;
    double activations = 0;  ///< kept from the forward to the backward pass, of all microbatches in flight
    double working = 0;      ///< what else is held when most is: results that wait for a reader, gathered weights
    std::optional<double> capacity;  ///< of the chip's main memory; none: not known

    [[nodiscard]] double total() const { return params + gradients + optimizer + activations + working; }
    [[nodiscard]] bool fits() const { return !capacity || total() <= *capacity; }
};

/// What a chip holds of a step's tensors. `local` is the step on one chip and `types` how its values lie, as lay_out() gives them.
/// Parameters, gradients and states are flattened before they are shared out, so that they divide exactly; activations are
/// shares of tensors, padded. What is held besides is that of live_memory(), or of
/// an `unfused` optimizer what its operations make, where that is more. Errors: counts beyond 127 bits; a size that is not known.
[[nodiscard]] Result<TrainingMemory> training_memory(const TrainingProgram& step, const Program& local,
                                                     const std::vector<TensorType>& types, const System& system,
                                                     const InFlight& in_flight, bool unfused = false);

}  // namespace roofline
