// Training a model: time and memory of a step, utilization, and the duration and cost of a whole run.
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

/// A parallelism plan for training: the number of chips along each axis. Their product is the number of chips of the
/// slice. Each comment says what the chips of the axis split.
struct TrainingPlan {
    std::int64_t data = 1;    ///< sequences of the batch; every member holds all weights except for what `zero` shards
    std::int64_t fsdp = 1;    ///< sequences of the batch, and every weight (ZeRO-3)
    std::int64_t tensor = 1;  ///< heads, columns of the MLP, and the vocabulary
    std::int64_t sequence = 1;  ///< tokens; inside attention heads instead (Ulysses)
    std::int64_t context = 1;   ///< tokens, inside attention too
    std::int64_t expert = 1;    ///< sequences of the batch, and within expert layers the experts
    std::int64_t pipeline = 1;  ///< layers
    /// Experts lie over the chips of `tensor`, too, which then hold whole experts and not columns of each.
    bool experts_over_tensor = false;
    /// ZeRO stage of the `data` axis (arXiv 1910.02054), which shards: 0 nothing, 1 the optimizer states, 2 the
    /// gradients too, 3 the parameters too.
    int zero = 0;
};

/// An axis of a plan.
enum class PlanAxis : std::uint8_t { data, fsdp, tensor, sequence, context, expert, pipeline };

/// The optimizer, and the dtypes of its states.
struct Optimizer {
    enum class Kind : std::uint8_t {
        adam,  ///< AdamW: two moments per parameter
        sgd,   ///< plain gradient descent without states
    };
    Kind kind = Kind::adam;
    Dtype moments = Dtype::f32;  ///< of Adam
    bool master = false;         ///< Adam updates an f32 copy of each parameter that is stored in fewer bits
    bool unfused = false;        ///< Adam runs as separate tensor operations whose results are written to memory
    bool f32_gradients = false;  ///< gradients are accumulated in f32; otherwise in the parameters' dtype
};

/// Low-rank adapters (LoRA, arXiv 2106.09685): two small matrices beside each of some projections. Only they have
/// gradients and optimizer states; all parameters of the model are frozen.
struct Lora {
    std::int64_t rank = 16;
    /// Projections by the last word of their module in a checkpoint, with or without "_proj", or "attention",
    /// "all-linear"; those joined by + share the first factor: {"q+k+v", "o"}. Empty: {"attention"}.
    std::vector<std::string> on{};
    std::optional<Dtype> frozen_dtype{};  ///< in which the frozen matrices are stored (QLoRA); empty: as in the model
};

/// Recomputation policy: what the forward pass keeps for the backward pass. All else is computed again.
enum class Recomputation : std::uint8_t {
    none,       ///< everything that the backward pass reads is kept
    selective,  ///< results of matmuls with parameters and of attention are kept
    alternate,  ///< results of every other matmul with parameters and of attention are kept
    full,       ///< only the residual stream between layers is kept
    named,      ///< the residual stream and the tensors in TrainingOptions::kept_tensors are kept
};

/// The order in which the stages of a pipeline process micro-batches.
struct PipelineSchedule {
    enum class Kind : std::uint8_t {
        gpipe,        ///< all forward passes, then all backward passes (arXiv 1811.06965)
        one_f_one_b,  ///< 1F1B: each backward pass as early as possible (PipeDream, arXiv 1806.03377)
        interleaved,  ///< 1F1B with several virtual stages per stage (arXiv 2104.04473)
        zero_bubble,  ///< weight gradients fill the bubble: ZB-H1 (arXiv 2401.10241)
    };
    Kind kind = Kind::one_f_one_b;
    std::int64_t virtual_stages = 2;  ///< per stage, if interleaved
};

/// How a run is interrupted and recovers, for its goodput.
struct Recovery {
    Bandwidth storage;  ///< at which all chips together write a checkpoint
    /// Interruptions by failures of one chip and its part of the system; each stops the whole run. Empty: the published
    /// rate of the machine, if there is one.
    std::optional<Frequency> interruptions_per_chip{};
    /// From an interruption until training goes on, with reading the checkpoint. Empty: 10 minutes (MegaScale, arXiv
    /// 2402.15627).
    std::optional<Seconds> restart{};
    bool blocking = true;  ///< training waits while a checkpoint is written; otherwise it goes on meanwhile
};

/// Options of predict_training().
struct TrainingOptions {
    /// Tokens per step of all chips together, a whole number of sequences. Without it no step is predicted, and
    /// `assumed_mfu` must be given.
    std::optional<std::int64_t> batch_tokens{};
    std::int64_t microbatches = 1;               ///< micro-batches per step, processed one after another
    std::optional<TrainingPlan> plan{};          ///< empty: FSDP over all chips
    std::optional<PipelineSchedule> schedule{};  ///< of a pipeline; empty: 1F1B
    Recomputation recomputation = Recomputation::none;
    std::vector<std::string> kept_tensors{};  ///< for Recomputation::named: tensors of the forward pass
    Optimizer optimizer{};
    std::optional<Lora> lora{};  ///< empty: all parameters are trained
    /// Dtype in which matmuls with parameters are computed: a floating-point format of fewer than 16 bits. Empty: as
    /// stored.
    std::optional<Dtype> matmul_dtype{};
    std::optional<Dtype> dispatch_dtype{};  ///< dtype in which tokens are dispatched to experts, likewise
    /// Axes whose collectives overlap with matmuls, in addition to `data` and `fsdp`. Empty: those that the framework
    /// overlaps.
    std::vector<PlanAxis> overlapped{};
    /// Training framework with or without a version, "nemo-25.09": its kernels, overlap, loss and memory are assumed;
    /// the optimizer is that of `optimizer`. "": times as of the usual one of the machine, memory of tensors alone.
    std::string framework{};
    std::optional<double> assumed_mfu{};         ///< MFU, 0 < MFU <= 1, that replaces the predicted step time
    std::optional<std::int64_t> total_tokens{};  ///< of the whole run: for its duration and cost
    std::optional<Recovery> recovery{};          ///< for the goodput of that run; needs `total_tokens`
    std::string software{};                      ///< library or server whose calibration is used; "": the newest
    bool calibrated = true;                      ///< predict expected times; otherwise bounds only
    bool textbook = false;                       ///< approximate collectives as one does by hand
};

/// Memory in use on one chip at its peak; in a pipeline, on a chip of the fullest stage.
struct TrainingMemory {
    Bytes parameters;
    Bytes gradients;
    Bytes optimizer;
    Bytes activations;  ///< kept from the forward to the backward pass, of all micro-batches in flight
    Bytes working;      ///< everything else that is allocated at the peak
    Bytes overhead;     ///< what the framework's allocator and a process take beyond tensors
    Bytes total;
    std::optional<Bytes> capacity{};  ///< of the chip's main memory; empty if not published

    [[nodiscard]] bool fits() const { return !capacity || total <= *capacity; }
};

/// One training step. In a pipeline its times are those of the slowest stage, including its pipeline bubble.
struct TrainingStep {
    Seconds lower;                       ///< lower bound
    Seconds sequential;                  ///< sum of the statements' lower bounds
    Seconds no_overlap;                  ///< sum of the times of all resources
    std::optional<Expected> expected{};  ///< by models fitted to measurements
    double bubble = 0;                   ///< fraction of `no_overlap` in which the stage idles (pipeline bubble)
    std::string bound_by{};              ///< id of the resource that determines the step time
    std::vector<ResourceTime> resources{};
    /// Grouped by kind and axes, longest first; `bytes` and `time` are sums over the group.
    std::vector<Collective> collectives{};
    TrainingMemory memory{};
};

/// Time and cost of a whole training run without interruptions.
struct TrainingCost {
    Flops flops;  ///< model FLOPs, without recomputation
    Seconds time;
    Seconds chip_time;         ///< `time` times the number of chips
    std::optional<Usd> usd{};  ///< empty if the chip has no price
};

/// The same run with interruptions: expected values. `fraction`, `writing`, `rework` and `restarts` are fractions of
/// `time` and add up to 1 (docs/method/goodput.md).
struct TrainingGoodput {
    double fraction = 1;       ///< TrainingCost::time over `time`
    Seconds time;              ///< calendar time
    Seconds chip_time;         ///< `time` times the number of chips
    std::optional<Usd> usd{};  ///< empty if the chip has no price
    double interruptions = 0;
    Seconds between_interruptions;  ///< mean
    Bytes checkpoint;               ///< trained parameters and optimizer states
    Seconds checkpoint_time;        ///< to write them
    Seconds checkpoint_interval;    ///< training from one checkpoint to the next, the best one
    double writing = 0;             ///< waiting for checkpoints
    double rework = 0;              ///< repeating what an interruption made useless
    double restarts = 0;            ///< restarting
};

/// The answer of predict_training(). All members are plain values; only to_json() needs `data`.
struct TrainingPrediction {
    std::optional<TrainingStep> step{};  ///< empty if a utilization is assumed and no batch is given
    /// The step time behind the rates and the cost: expected; else the lower bound; or what the assumed utilization
    /// gives.
    std::optional<Seconds> step_time{};
    /// Model FLOPs utilization (PaLM, arXiv 2204.02311, appendix B) relative to the bf16 peak. Empty if the plan does
    /// not fit into memory.
    std::optional<double> mfu{};
    std::int64_t trained_parameters = 0;           ///< all of the model, or with TrainingOptions::lora its adapters
    std::optional<Frequency> tokens_per_second{};  ///< of all chips together
    std::optional<TrainingCost> cost{};            ///< of a run over TrainingOptions::total_tokens
    std::optional<TrainingGoodput> goodput{};      ///< of that run, with TrainingOptions::recovery and a known rate
    std::vector<std::string> notes{};

    /// Returns the line that `roofline train --json` prints for the same question, with its newline.
    [[nodiscard]] std::string to_json() const;

    /// Internal to the library.
    struct Data;
    std::shared_ptr<const Data> data{};
};

/// Predicts training of the model on the slice. Unless Model::with_sequence() sets a length, sequences have 8192
/// tokens, or the model's context if that is shorter. Errors: neither a batch nor a utilization is given (`no_batch`);
/// the batch does not divide; the plan does not suit the model or the slice (`bad_plan`); an operation has no
/// derivative; the machine has no rate for part of the work. A step that does not fit into memory is an answer, not an
/// error.
[[nodiscard]] Result<TrainingPrediction> predict_training(const Model& model, const System& system,
                                                          const TrainingOptions& options);

}  // namespace roofline
