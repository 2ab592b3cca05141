// A training step as one program: forward, backward, optimizer. The backward pass is derived from the forward program,
// operation by operation, without knowledge of models.
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

/// The recomputation policy: which tensors the forward pass keeps for the backward pass. Other tensors that the
/// backward pass reads are recomputed.
enum class Remat {
    none,       ///< keeps everything that the backward pass reads
    selective,  ///< keeps the results of contractions; softmax planes, norms and elementwise results are recomputed
    /// In an iteration of a `repeat`, keeps the first, third ... matmul with a parameter and all other contractions;
    /// everything outside of repeats.
    alternate,
    /// Keeps what one iteration of a `repeat` passes to the next; each iteration is recomputed in its backward
    /// iteration, as TrainingOptions::whole_layers says.
    full,
    named,  ///< keeps what iterations pass on, and the named tensors; only what is read is recomputed
};

/// Reads "none", "selective", "alternate", "full", or the names of kept tensors, "Q,Hm"; "" means none. Errors: an
/// empty name.
struct TrainingOptions;
[[nodiscard]] Result<TrainingOptions> remat_options(std::string_view words);

enum class Optimizer {
    none,  ///< the step ends with the gradients
    sgd,   ///< W - rate dW: no states
    adam,  ///< AdamW: two moments, weight decay
};

struct TrainingOptions {
    Remat remat = Remat::none;
    std::vector<std::string> kept{};  ///< for Remat::named: tensors of the forward program
    bool whole_layers = true;         ///< for Remat::full: also what nothing reads is recomputed
    Optimizer optimizer = Optimizer::adam;
    Dtype moments = Dtype::f32;  ///< of Adam
    bool master = true;          ///< an f32 master copy of each narrower parameter, which the optimizer updates
    bool unfused = false;  ///< for Adam: plain tensor operations on all parameters at once, whose results are stored
    bool f32_gradients = false;  ///< gradients of parameters are f32; otherwise they have the parameter's dtype
    bool f32_logits = false;     ///< for with_loss(): logits and log-probabilities are stored in f32
    /// Dtype in which matmul results inside an expression, such as the inputs of silu(X * Wg) * (X * Wu), are kept for
    /// the backward pass if they have more bits; empty: as they are.
    std::optional<Dtype> kept_products{};
    bool keep_unread = false;       ///< tensors that the policy keeps in a `repeat` are kept even if nothing reads them
    bool stored_casts = false;      ///< the gradient of a converted tensor is stored in the dtype of the conversion
    std::int64_t microbatches = 1;  ///< forward and backward passes per step, whose gradients accumulate
    bool input_gradients = true;  ///< of declared floating-point inputs, too, for a part of a model that passes them on
};

enum class StepRole {
    param,
    gradient,         ///< of a parameter; gradients between operations are not counted
    optimizer_state,  ///< moments and master copies
    activation,       ///< kept by the forward pass for the backward pass
};

/// A tensor that outlives the operation that computes it.
struct StepTensor {
    ValueId value = 0;  ///< in the step's program
    StepRole role = StepRole::activation;
    std::vector<std::string>
        /// Counts of the repeats that contain it: there is one tensor per iteration. Micro-batches are not included.
        repeats{};
    std::optional<ValueId> param{};  ///< for a gradient or a state: its parameter
};

enum class StepPhase {
    forward,
    recomputation,  ///< of the forward pass, in the backward pass
    backward,
    optimizer,
};

struct TrainingProgram {
    Program program;
    std::vector<StepTensor> tensors;  ///< parameters, gradients, states and activations, in program order
    std::vector<StepPhase> phases;    ///< of each statement, in program order
};

/// Returns the bytes of one role: those of each tensor times the counts of the repeats that contain it.
[[nodiscard]] Polynomial bytes_of(const TrainingProgram& step, StepRole role);

/// Returns the training step of a forward program. A final result that nothing reads gets its gradient from outside, as
/// a declared input; with_loss() provides one for a model. A cache is a plain tensor here. A tensor that is computed in
/// a `repeat` and read by a later `repeat` with the same count is the one of the same iteration. Errors: an operation
/// without a derivative, with its place; dimensions without names; a tensor to keep that does not exist; neither a
/// parameter nor an input to differentiate with respect to; a sharded program.
[[nodiscard]] Result<TrainingProgram> training_step(const Program& forward, const TrainingOptions& options = {});

/// Appends the cross entropy of the program's last result: Lse = logsumexp[V](x) and Loss = Lse - gather[V](x, Labels),
/// where V is the last dimension of x. One number per row is kept of it; the gradient is exp(x - Lse). With
/// `f32_logits` x is first stored again in f32, Logits_f32, and then LogP = Logits_f32 - Lse, as in frameworks whose
/// loss is not a single kernel. Errors: a last result without dimensions; names that are taken.
[[nodiscard]] Result<Program> with_loss(const Program& forward, bool f32_logits = false);

}  // namespace roofline::core
