// What a training step holds from one statement to the next, and the most that it holds at a time.
#pragma once

#include "base/result.hpp"
#include "plan/framework_memory.hpp"
#include "program/adjoint.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Microbatches of which a chip holds activations at a time.
struct InFlight {
    double layers = 1;  ///< of what is kept inside the model's repeats
    double others = 1;  ///< of what is kept outside of them: in the last stage of a pipeline, what the loss reads
};

/// Bytes of one chip while it runs a step, without parameters, gradients and the optimizer's states, which are always there.
struct LiveMemory {
    double kept = 0;  ///< activations kept from the forward to the backward pass, of all microbatches in flight
    double peak = 0;  ///< the most at a time of these and of all else that waits for its reader
};

/// The most bytes that wait for a reader at any statement. `local` is the step on one chip; its statements are those of `step`. A tensor is
/// there from the statement that makes it to the last that reads it; what is kept of the passes of a repeat, for all passes when the
/// backward one begins, and one fewer once the pass has read it. What a kernel makes for itself (an intermediate, the inside of a
/// `fuse` block) is not there at all. An operand that is gathered is there besides its share, from its first use in a pass to its last;
/// parameters so of the whole pass and of the next one, which is gathered while this one computes (Zhao et al. 2023, arXiv
/// 2304.11277, section 3.3.2). Of FSDP's units
/// gathered parameters that are in no layer are not counted: unit_memory() has them. Of logits, their gradients and all of their shape
/// there is one part of `loss_parts`. Where products add to gradients themselves (`fused_gradients`), autograd is still handed a
/// gradient for each: Transformer Engine keeps one tensor of the parameters' dtype for each shape of weights, for all layers and
/// microbatches (get_dummy_wgrad in its pytorch/module/base.py, and Megatron-LM's tensor_parallel/layers.py), of experts that of
/// one; where a layer has several weights of a shape they are taken to be one matrix, as its queries, keys and values are, or its gate
/// and up projection. Errors: sizes that are not known, counts beyond 127 bits.
[[nodiscard]] Result<LiveMemory> live_memory(const TrainingProgram& step, const Program& local,
                                             const InFlight& in_flight, const FrameworkHabits& habits = {});

}  // namespace roofline::core
