// What a framework holds of a step besides its tensors: units of FSDP that stay gathered, and blocks that nothing else is put into.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "layout/lay_out.hpp"
#include "network/system.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// How a framework goes about a step, where it takes memory.
struct FrameworkHabits {
    bool unfused = false;  ///< the optimizer is of plain tensor operations, whose results lie in memory
    bool fsdp_units =
        false;  ///< parameters are gathered by layer, and all outside of layers together, as PyTorch's FSDP2 does
    bool stored_casts = false;  ///< the loss converts logits by an operation of its own, whose operand is then freed
    bool pipeline_buffers =
        false;  ///< outputs of all microbatches stay, and there is a buffer for whatever a stage will receive
    double loss_parts = 1;  ///< head and loss go over the tokens in so many parts, forward and backward
    bool flat_optimizer =
        false;  ///< gradients are put into one flat tensor for the optimizer, as ZeRO's implementations do
    bool copied_norm = false;  ///< the gradients' norm is that of f32 copies of all of them
    bool fused_gradients =
        false;  ///< products add to gradients themselves, and one tensor for each shape of weights stands in for what they gave

    bool operator==(const FrameworkHabits&) const = default;
};

/// Bytes of one chip.
struct FrameworkMemory {
    double held = 0;   ///< from the forward to the backward pass: units that are not scattered again in between
    double apart = 0;  ///< reserved by a caching allocator in blocks that fit nothing that is held when most is
};

/// What units of FSDP hold: PyTorch's root unit, all parameters that are in no layer, and its last layer are gathered from the forward to the
/// backward pass. All-gathers have a stream and so a pool of blocks of their own, which has to take the root or two layers; where
/// parameters are replicas and the states shared out, as in its pipelines, reduce-scatters have one as large as a chip's share of the gradients.
/// (pytorch/pytorch, torch/distributed/_composable/fsdp/_fsdp_collectives.py and _fsdp_state.py.) `stay` has the axes that parameters are
/// not gathered over. Errors: sizes that are not known.
[[nodiscard]] Result<FrameworkMemory> unit_memory(const TrainingProgram& step, const std::vector<TensorType>& types,
                                                  const StayingAxes& stay, const System& system);

/// Chips that share a tensor.
[[nodiscard]] double holders_of(const TensorType& type, const System& system);

/// The largest tensor that is converted to a wider dtype by a statement of its own and then read no more: its block is
/// too small for the tensors that follow. `local` is the step on one chip. Errors: sizes that are not known.
[[nodiscard]] Result<double> block_left_by_cast(const Program& local);

/// Logits: what a loss takes the sums of exponentials of. None: the program has no loss.
[[nodiscard]] std::optional<ValueId> logits_of(const Block& block);

/// What PyTorch's pipelines keep of a stage: the outputs of all microbatches to the end of the step, a buffer for each gradient that comes
/// back, and one for each input, `in_flight` of which activations have already. (pytorch/pytorch, torch/distributed/pipelining/stage.py:
/// output_chunks, args_recv_info, grad_recv_info.) Errors: sizes that are not known.
[[nodiscard]] Result<double> pipeline_buffer_bytes(const Program& local, bool first, double microbatches,
                                                   double in_flight);

}  // namespace roofline::core
