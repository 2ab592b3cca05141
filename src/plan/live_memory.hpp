// The tensors that a training step holds from one statement to the next, and their peak.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/framework_memory.hpp"
#include "program/adjoint.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The number of micro-batches whose activations a chip holds at a time.
struct InFlight {
    double layers = 1;  ///< for activations kept inside the model's repeats
    /// For activations kept outside of them: in the last stage of a pipeline, those that the loss reads.
    double others = 1;
};

/// Bytes on one chip while it runs a step, without parameters, gradients and optimizer states, which are always held.
struct LiveMemory {
    double kept = 0;  ///< activations kept from the forward to the backward pass, of all micro-batches in flight
    double peak = 0;  ///< peak of these and of all other results that are still to be read
};

/// The bytes of a tensor on one chip: `scale` times the sizes of dimensions of its program.
struct LiveBytes {
    double scale = 0;
    std::vector<std::string> dims;

    [[nodiscard]] LiveBytes operator*(double times) const { return {scale * times, dims}; }
};

/// By which number of InFlight the bytes are multiplied.
enum class LiveTimes { once, layers, others };

/// A tensor that is held from one place of a program, a statement or a fused kernel, to another, both included. Its
/// bytes may be negative, as a correction of another one's.
struct LiveTensor {
    std::size_t first = 0;
    std::size_t last = 0;
    LiveBytes bytes;
    LiveTimes times = LiveTimes::once;
};

/// What a step holds beside parameters, gradients and optimizer states, as formulas.
struct LiveTensors {
    std::vector<LiveTensor> tensors;
    std::size_t places = 0;        ///< of the program, and one more
    std::vector<LiveTensor> kept;  ///< activations that the backward pass reads, which are among `tensors`
    /// Of each of these the alternative with the largest sum is held from the beginning to the end.
    std::vector<std::vector<std::vector<LiveBytes>>> largest_of{};
};

/// Returns what a step holds. Sizes only tell which tensors are gathered: those with more elements than their shards.
/// Arguments, rules and errors are those of live_memory().
[[nodiscard]] Result<LiveTensors> live_tensors(const TrainingProgram& step, const Program& local,
                                               const FrameworkHabits& habits = {});

/// Returns the peak bytes over all statements. `local` is the step on one chip; its statements are those of `step`. A
/// tensor is held from the statement that produces it to the last one that reads it. Activations of a repeat are held
/// for all its iterations when the backward pass begins, and for one fewer after each backward iteration. Values that a
/// kernel keeps to itself (an intermediate, the inside of a `fuse` block) are not held at all. A gathered operand is
/// held besides its shard, from its first use in an iteration to its last; a gathered parameter is held for the whole
/// iteration, together with the one of the next iteration, which is gathered while this one computes (Zhao et al. 2023,
/// arXiv 2304.11277, section 3.3.2). With FSDP units, gathered parameters that are in no layer are not counted here,
/// because unit_memory() has them. Of logits, their gradients and everything of their shape one part of `loss_parts` is
/// held. If matmuls accumulate into gradients (`fused_gradients`), autograd still receives a gradient for each:
/// Transformer Engine keeps one tensor of the parameters' dtype per shape of weights, for all layers and micro-batches
/// (get_dummy_wgrad in its pytorch/module/base.py, and Megatron-LM's tensor_parallel/layers.py), and for experts one of
/// a single expert's shape. If a layer has several weights of one shape they are assumed to be one matrix, as its
/// queries, keys and values are, or its gate and up projections. Errors: sizes that are not known, counts beyond 127
/// bits.
[[nodiscard]] Result<LiveMemory> live_memory(const TrainingProgram& step, const Program& local,
                                             const InFlight& in_flight, const FrameworkHabits& habits = {});

}  // namespace roofline::core
