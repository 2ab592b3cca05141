// Memory that a framework holds during a step besides tensors: FSDP units that stay gathered, and blocks of the
// allocator that are not reused.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "layout/lay_out.hpp"
#include "network/system.hpp"
#include "program/adjoint.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Habits of a framework that take memory.
struct FrameworkHabits {
    bool unfused = false;  ///< the optimizer consists of plain tensor operations whose results are stored
    bool fsdp_units =
        /// Parameters are gathered per layer, and all parameters outside of layers together, as PyTorch's FSDP2 does.
        false;
    bool stored_casts = false;  ///< the loss converts logits in a separate operation, whose operand is then freed
    bool pipeline_buffers =
        false;  ///< outputs of all micro-batches are kept, and everything that a stage receives has a buffer
    double loss_parts = 1;  ///< head and loss process the tokens in this many parts, forward and backward
    bool flat_optimizer =
        false;  ///< gradients are copied into one flat tensor for the optimizer, as implementations of ZeRO do
    bool copied_norm = false;  ///< the norm of the gradients is computed from f32 copies of all of them
    bool fused_gradients =
        false;  ///< matmuls accumulate into gradients, and one tensor per shape of weights stands in for their results

    double reserved = 1;       ///< memory that a caching allocator takes over that of its tensors
    double context_bytes = 0;  ///< of a process outside the allocator's blocks

    bool operator==(const FrameworkHabits&) const = default;
};

/// Tensors that a framework stores in another dtype. They count in memory alone, because the step model was fitted to
/// steps without them.
struct HeldDtypes {
    bool f32_logits = false;               ///< as in TrainingOptions
    bool stored_casts = false;             ///< likewise
    bool f32_gradients = false;            ///< likewise
    std::optional<Dtype> kept_products{};  ///< likewise

    [[nodiscard]] bool any() const { return f32_logits || stored_casts || f32_gradients || kept_products; }
    bool operator==(const HeldDtypes&) const = default;
};

/// Bytes on one chip.
struct FrameworkMemory {
    double held = 0;  ///< from the forward to the backward pass: units that are not resharded in between
    double extra_reserved =
        0;  ///< reserved by a caching allocator in blocks that do not fit any tensor held at the peak
};

/// Returns what FSDP units hold. PyTorch's root unit (all parameters that are in no layer) and its last layer stay
/// gathered from the forward to the backward pass. All-gathers have their own stream and therefore their own pool of
/// blocks, which has to hold the root or two layers. If parameters are replicated and the states sharded, as in its
/// pipelines, reduce-scatters have a pool as large as a chip's share of the gradients. (pytorch/pytorch,
/// torch/distributed/_composable/fsdp/_fsdp_collectives.py and _fsdp_state.py.) `stay` has the axes that parameters are
/// not gathered over. Errors: sizes that are not known.
[[nodiscard]] Result<FrameworkMemory> unit_memory(const TrainingProgram& step, const std::vector<TensorType>& types,
                                                  const StayingAxes& stay, const System& system);

/// Returns the number of chips that share a tensor.
[[nodiscard]] double holders_of(const TensorType& type, const System& system);

/// Returns the bytes of the largest tensor that a separate statement converts to a wider dtype and that is not read
/// afterwards: its block is too small for the tensors that follow. `local` is the step on one chip. Errors: sizes that
/// are not known.
[[nodiscard]] Result<double> block_left_by_cast(const Program& local);

/// Returns the logits: the operand of the loss's log-sum-exp. Empty if the program has no loss.
[[nodiscard]] std::optional<ValueId> logits_of(const Block& block);

/// The tensors of a stage that PyTorch's pipelines have buffers for.
struct PipelineBuffers {
    ValueId input = 0;
    ValueId output = 0;
    bool gradients = true;  ///< of outputs come back from another stage
};
/// Empty without a tensor that is handed on.
[[nodiscard]] std::optional<PipelineBuffers> pipeline_buffers_of(const Program& local);

/// Returns what PyTorch's pipelines keep on a stage: the outputs of all micro-batches to the end of the step, a buffer
/// for each gradient that comes back, and one for each input; the activations already contain `in_flight` of these.
/// (pytorch/pytorch, torch/distributed/pipelining/stage.py: output_chunks, args_recv_info, grad_recv_info.) Errors:
/// sizes that are not known.
[[nodiscard]] Result<double> pipeline_buffer_bytes(const Program& local, bool first, double microbatches,
                                                   double in_flight);

}  // namespace roofline::core
