// What training a model takes: the time and memory of a step, utilisation, days and dollars.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "roofline/collective.hpp"
#include "roofline/dtype.hpp"
#include "roofline/machine.hpp"
#include "roofline/model.hpp"
#include "roofline/predict.hpp"
#include "roofline/result.hpp"
#include "roofline/units.hpp"

namespace roofline {

/// Over how many chips each strategy of parallelism splits a model. The sizes multiply to the chips of the slice.
struct TrainingPlan {
    std::int64_t data = 1;  ///< sequences of the batch; every member holds the weights, but for what `zero` shares out
    std::int64_t fsdp = 1;  ///< sequences of the batch, and every weight (ZeRO-3)
    std::int64_t tensor = 1;    ///< heads, the columns of the MLP and the vocabulary
    std::int64_t sequence = 1;  ///< tokens, but heads inside attention (Ulysses)
    std::int64_t context = 1;   ///< tokens, inside attention too
    std::int64_t expert = 1;    ///< sequences of the batch, but experts where tokens are sent to them
    std::int64_t pipeline = 1;  ///< layers
    /// What the members of `data` share out (ZeRO, arXiv 1910.02054): 0 nothing, 1 the optimizer's states, 2 gradients
    /// too, 3 parameters too.
    int zero = 0;
};

/// An axis of a plan.
enum class PlanAxis : std::uint8_t { data, fsdp, tensor, sequence, context, expert, pipeline };

/// How parameters are updated, and in what that is kept.
struct Optimizer {
    enum class Kind : std::uint8_t {
        adam,  ///< AdamW: two moments for each parameter
        sgd,   ///< no states
    };
    Kind kind = Kind::adam;
    Dtype moments = Dtype::f32;  ///< of Adam
    bool master = false;   ///< of Adam: an f32 copy of each parameter that has fewer bits, which is what is updated
    bool unfused = false;  ///< of Adam: plain tensor operations, whose results lie in memory
    bool f32_gradients = false;  ///< gradients are summed in f32; otherwise in the parameters' dtype
};

/// What the forward pass keeps for the backward one; the rest is computed again.
enum class Recomputation : std::uint8_t {
    none,       ///< nothing is computed again
    selective,  ///< results of products are kept
    alternate,  ///< every other product's result is kept
    full,       ///< only what goes from layer to layer is kept
    named,      ///< that, and the tensors of TrainingOptions::kept
};

/// In which order the stages of a pipeline work on microbatches.
struct PipelineSchedule {
    enum class Kind : std::uint8_t {
        gpipe,        ///< all forward passes, then all backward passes (arXiv 1811.06965)
        one_f_one_b,  ///< backward passes as early as they can be (PipeDream, arXiv 1806.03377)
        interleaved,  ///< the same with several chunks of layers in each stage (arXiv 2104.04473)
        zero_bubble,  ///< gradients of weights fill the waits: ZB-H1 (arXiv 2401.10241)
    };
    Kind kind = Kind::one_f_one_b;
    std::int64_t chunks = 2;  ///< of layers in each stage, where they are interleaved
};

/// How a model is trained, and how that is priced.
struct TrainingOptions {
    /// Tokens of one step, all chips together: a whole number of sequences. Without it a utilisation is assumed, and no
    /// step predicted.
    std::optional<std::int64_t> batch_tokens{};
    std::int64_t microbatches = 1;               ///< into which the batch is cut, one after the other
    std::optional<TrainingPlan> plan{};          ///< none: everything is shared out over all chips, fsdp
    std::optional<PipelineSchedule> schedule{};  ///< of a pipeline; none: 1F1B
    Recomputation recomputation = Recomputation::none;
    std::vector<std::string> kept{};  ///< of Recomputation::named: tensors of the forward pass
    Optimizer optimizer{};
    std::optional<Dtype>
        products{};  ///< in which products with parameters are computed, a float below 16 bits; none: as stored
    std::optional<Dtype> dispatch{};      ///< in which tokens are sent to experts, likewise
    std::vector<PlanAxis> overlapped{};   ///< axes whose collectives run beside products, besides those of replicas
    std::optional<double> assumed_mfu{};  ///< model FLOPs utilisation, above 0 to 1, in the place of a predicted step
    std::optional<std::int64_t> total_tokens{};  ///< of the whole training: for days and dollars
    std::string software{};                      ///< whose measured times are expected; "": the newest
    bool calibrated = true;                      ///< expect times at all; else bounds alone
    bool textbook = false;                       ///< collectives as people approximate them by hand
};

/// What one chip holds while it trains; of a pipeline a chip of the fullest stage.
struct TrainingMemory {
    Bytes parameters;
    Bytes gradients;
    Bytes optimizer;
    Bytes activations;  ///< kept from the forward to the backward pass, of all microbatches in flight
    Bytes working;      ///< what else is held when most is
    Bytes total;
    std::optional<Bytes> capacity{};  ///< of the chip's main memory; empty: not published

    [[nodiscard]] bool fits() const { return !capacity || total <= *capacity; }
};

/// A step of training; of a pipeline that of the stage that takes longest, with what it waits for the others.
struct TrainingStep {
    Seconds lower;                       ///< no run is faster
    Seconds sequential;                  ///< each statement at its own lower bound, one after another
    Seconds no_overlap;                  ///< as if nothing overlapped
    std::optional<Expected> expected{};  ///< by laws fitted to measurements
    double bubble = 0;                   ///< the share of `no_overlap` in which the stage waits for others
    std::string bound_by{};              ///< the id of the resource that decides
    std::vector<ResourceTime> resources{};
    std::vector<Collective>
        collectives{};  ///< by kind and axes, the longest first; `bytes` and `time` are of all together
    TrainingMemory memory{};
};

/// What a whole training run takes.
struct TrainingCost {
    Flops flops;  ///< of the model, nothing that is computed again
    Seconds time;
    Seconds chip_time;         ///< of all chips together
    std::optional<Usd> usd{};  ///< empty where the chip has no price
};

/// What predict_training() answers. Plain values, but for the text of to_json().
struct TrainingPrediction {
    std::optional<TrainingStep> step{};  ///< empty where a utilisation is assumed and no batch given
    /// The time of a step that rates and cost are made of: expected, else the lower bound, or as the utilisation says.
    std::optional<Seconds> step_time{};
    /// Model FLOPs utilisation (PaLM, arXiv 2204.02311, appendix B), over the peak of bf16. Empty for a plan that does
    /// not fit.
    std::optional<double> mfu{};
    std::optional<Frequency> tokens_rate{};  ///< tokens per second, of all chips together
    std::optional<TrainingCost> cost{};      ///< of TrainingOptions::total_tokens
    std::vector<std::string> notes{};

    /// The line that `roofline train --json` prints for the same question, with its newline.
    [[nodiscard]] std::string to_json() const;

    /// For the library alone.
    struct Data;
    std::shared_ptr<const Data> data{};
};

/// What training the model on the slice takes. Without Model::with_sequence() sequences have 8192 tokens where the
/// context is longer. Errors: no batch and no utilisation (`no_batch`); a batch that does not divide; a plan that the
/// model or the slice does not take (`bad_plan`); operations without a derivative; work that the machine has no rate
/// for. A step that does not fit the memory is an answer, not an error.
[[nodiscard]] Result<TrainingPrediction> predict_training(const Model& model, const System& system,
                                                          const TrainingOptions& options);

}  // namespace roofline
