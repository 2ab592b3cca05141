// Which operations of a recorded training step run the forward pass again, because its activations were not kept.
#pragma once

#include <vector>

#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// Finds recomputation in a profile.
class Recomputation {
public:
    /// PyTorch's autograd engine names the node whose gradient it computes, "autograd::engine::evaluate_function:
    /// MmBackward0". Recomputed are
    /// - calls in a node of torch.utils.checkpoint (`CheckpointFunctionBackward`), without those in the nodes that its
    ///   own backward pass has inside;
    /// - calls in another node up to the end of the last one that no derivative makes: a linear layer, an attention, a
    ///   normalisation. That is checkpointing without reentrance, which recomputes when the first node of a layer asks
    ///   for what was saved.
    explicit Recomputation(const RecordedProfile& profile);

    /// Whether an event is part of the recomputation. An instruction of XLA says so itself: JAX names what
    /// jax.checkpoint computes again `rematted_computation`, and XLA its own repetitions `.remat`.
    [[nodiscard]] bool has(const DeviceEvent& event) const;

private:
    const RecordedProfile& profile_;
    std::vector<bool> calls_;
};

}  // namespace roofline::core
