// A training step as one program: forward, backward, optimizer. The backward pass follows from the forward program, operation by
// operation; nothing here knows a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// What the forward pass keeps for the backward one. What it does not keep and the backward pass reads is computed again.
enum class Remat {
    none,       ///< everything that the backward pass reads
    selective,  ///< the results of products; softmax planes, norms and what is elementwise are computed again
    alternate,  ///< in a pass of a `repeat` of products with parameters the first, third ..., and of all others; outside everything
    full,   ///< what goes from pass to pass of a `repeat`; each pass runs again, all of it, in its backward pass
    named,  ///< what goes from pass to pass, and the tensors that are named; only what is read is computed again
};

/// "none", "selective", "alternate", "full", or what is kept by name, "Q,Hm"; "" is none. Errors: an empty name.
struct TrainingOptions;
[[nodiscard]] Result<TrainingOptions> remat_options(std::string_view words);

enum class Optimizer {
    none,  ///< the step ends with the gradients
    sgd,   ///< W - rate dW: no states
    adam,  ///< AdamW: two moments, weight decay
};

struct TrainingOptions {
    Remat remat = Remat::none;
    std::vector<std::string> kept{};  ///< of Remat::named: tensors of the forward program
    Optimizer optimizer = Optimizer::adam;
    Dtype moments = Dtype::f32;  ///< of Adam
    bool master = true;          ///< an f32 copy of each parameter that has fewer bits, which the optimizer updates
    bool unfused = false;  ///< of Adam: plain tensor operations on all parameters at once, whose results lie in memory
    bool f32_gradients = false;     ///< gradients of parameters in f32; otherwise in the parameter's dtype
    bool f32_logits = false;        ///< of with_loss(): logits and log-probabilities are stored in f32
    bool keep_unread = false;       ///< what the policy keeps in a `repeat` is kept also where nothing reads it
    bool stored_casts = false;      ///< the gradient of what was converted to another dtype is stored in that dtype
    std::int64_t microbatches = 1;  ///< forward and backward so many times a step; gradients add up
    bool input_gradients = true;    ///< of declared inputs of floating dtype, too: a part of a model hands them on
};

enum class StepRole {
    param,
    gradient,         ///< of a parameter; what flows back between operations is not meant
    optimizer_state,  ///< moments and master copies
    activation,       ///< kept by the forward pass for the backward one
};

/// A tensor that outlives the operation that makes it.
struct StepTensor {
    ValueId value = 0;  ///< in the step's program
    StepRole role = StepRole::activation;
    std::vector<std::string>
        repeats{};  ///< counts of the repeats it belongs to: there is one for each pass. Not the microbatches.
    std::optional<ValueId> param{};  ///< of a gradient or a state: whose it is
};

enum class StepPhase {
    forward,
    again,  ///< what the backward pass computes a second time
    backward,
    optimizer,
};

struct TrainingProgram {
    Program program;
    std::vector<StepTensor> tensors;  ///< parameters, gradients, states and activations, in the program's order
    std::vector<StepPhase> phases;    ///< of each statement, in the program's order
};

/// Bytes of one role: those of one tensor times the repeats it belongs to.
[[nodiscard]] Polynomial bytes_of(const TrainingProgram& step, StepRole role);

/// The step of a forward program. What it ends with and nobody reads gets its gradient from outside, as a declared input: see
/// with_loss() for a model's. A cache is a plain tensor here. A tensor made in a `repeat` that a later `repeat` with the same
/// count reads is that of the same pass. Errors: an operation without a derivative, with its place; dimensions without names; a
/// tensor to keep that does not exist; no parameter and no input to differentiate by; a program that is split over a mesh.
[[nodiscard]] Result<TrainingProgram> training_step(const Program& forward, const TrainingOptions& options = {});

/// Cross entropy behind the program's last result: Lse = logsumexp[V](x) and Loss = Lse - gather[V](x, Labels), V the last dimension of x.
/// A number for each row is kept of it; the gradient is exp(x - Lse). With `f32_logits` x is
/// first stored again in f32, Logits_f32, and then LogP = Logits_f32 - Lse, as frameworks do whose loss is no kernel of its own.
/// Errors: a last result without dimensions; names that are taken.
[[nodiscard]] Result<Program> with_loss(const Program& forward, bool f32_logits = false);

}  // namespace roofline::core
