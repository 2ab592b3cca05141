// The answer of `roofline serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/server/server_memory.hpp"
#include "model/expert_routing.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"
#include "plan/cache_transfer.hpp"
#include "plan/emitted_launch.hpp"
#include "plan/plan.hpp"
#include "plan/serving_capacity.hpp"
#include "plan/serving_memory.hpp"
#include "plan/serving_split.hpp"
#include "predict/prediction.hpp"
#include "predict/serve/draft_question.hpp"
#include "predict/serve/load_question.hpp"

namespace roofline::core {

/// One batch size of the throughput-latency frontier.
struct ServePoint {
    std::int64_t batch = 0;
    double lower_s = 0;          ///< lower bound of the time per output token for any choice of experts
    double tpot_s = 0;           ///< time per output token: the expected time, or else the sequential time
    double tokens_per_s = 0;     ///< of the whole slice
    std::string bound_by;        ///< "HBM": bottleneck of a decode step with uniform routing
    double uniform_lower_s = 0;  ///< lower bound with uniform routing; equals lower_s without experts
    /// With speculation, the time per output token without it.
    std::optional<double> tpot_without_s{};
};

/// Speculative decoding: a step drafts tokens of each sequence, and the decode pass of the answer verifies them.
struct SpeculatedServing {
    std::int64_t tokens = 0;  ///< drafted for each step of a sequence
    double acceptance = 0;
    DraftSource source = DraftSource::lookup;
    std::string name;                   ///< of the drafter's model; "": of a lookup
    double tokens_per_step = 1;         ///< that a step yields on average
    std::optional<Prediction> draft{};  ///< the pass that drafts one token of each sequence; empty: of a lookup
    RoutingBound least_draft{};         ///< its bound for any choice of experts
    double prefill_s = 0;               ///< of the prompts of the answer's prefill, by the drafter
    ServingMemory memory{};             ///< weights and KV cache of the drafter, part of `chip_memory`
    double tpot_without_s = 0;          ///< time per output token of the same set-up without speculation
    /// The batch of the frontier from which on it is no longer faster; empty: it is for the largest.
    std::optional<std::int64_t> no_gain_from{};

    /// All drafts of a step, one after another.
    [[nodiscard]] double draft_s() const;
};

/// The batch sizes at which a decode step becomes compute-bound.
struct ComputeBoundBatch {
    std::optional<double> step;     ///< of the whole step; empty: never compute-bound
    std::optional<double> weights;  ///< of the matmuls with weights only; empty: never compute-bound
    /// Ridge point times bytes per weight / 2, and with experts times experts per expert chosen.
    std::optional<double> textbook;
};

/// The smallest slice of a machine whose memory suffices.
struct SmallestSlice {
    std::string name;  ///< "tpu-v5e:2x4"
    std::int64_t chips = 0;
    Plan plan;  ///< a plan with which it does
};

/// What a server has room for, which does not use all of a chip's memory.
struct ServedRoom {
    MemoryRule rule;
    double cache_bytes = 0;      ///< of one chip, for KV caches
    std::int64_t max_batch = 0;  ///< sequences of prompt and output; 0: not even one fits
    std::int64_t tokens = 0;     ///< of such sequences, in whole blocks
    ServingMemory least;         ///< of one chip with a single sequence
};

/// The slices that prefill for those that decode.
struct PrefillPool {
    Slice slice;
    std::string machine_id;
    Plan plan;
    std::vector<MeshAxis> mesh;
    bool plan_chosen = false;               ///< the plan was not given but chosen
    ServingMemory chip_memory;              ///< with a prompt per member
    std::optional<double> capacity;         ///< bytes of one chip; empty if the machine does not specify it
    double room_tokens = 0;                 ///< prompt tokens whose caches fit on a slice; 0: no limit
    std::int64_t block = 1;                 ///< tokens per block of these caches
    std::int64_t slices = 1;                ///< that prefill under the load
    std::int64_t decode_slices = 1;         ///< that decode under the load
    std::optional<CacheTransfer> transfer;  ///< empty if a machine's file has no network between slices
    std::optional<PoolRates> rates;         ///< that the pools take under the load

    [[nodiscard]] bool fits() const { return !capacity || chip_memory.total() <= *capacity; }
};

/// Expected behaviour of a server under load: that of the question, or a closed loop of as many requests as the batch.
struct ServedLoad {
    std::string software;     ///< server whose calibration is used: "vllm"
    double error = 0;         ///< of the time per output token, on models (with pools: set-ups) not fitted
    double ttft_s = 0;        ///< time to first token, including queueing
    double tpot_s = 0;        ///< time per output token, including interruptions by other requests' prompts
    double running = 0;       ///< average number of requests being decoded
    double tokens_per_s = 0;  ///< of the whole slice
    /// Mean over largest number of tokens that experts of a chip get in a decode step; empty if each chip has all
    /// experts, or none.
    std::optional<double> balancedness{};
    bool two_batches = false;  ///< two-batch overlap where that is faster
};

/// The forward-pass model that expected times come from.
struct MeasuredPasses {
    std::string software;      ///< "llama.cpp"
    std::string family;        ///< of chips that are built alike: "Ada"
    std::string machine;       ///< the measured one
    bool transferred = false;  ///< to another machine
    std::int64_t rows = 0;     ///< of the family
    std::vector<std::string> models;
    double generation_error = 0;  ///< median |predicted - measured| / measured of rows that were not fitted
    double prompt_error = 0;      ///< likewise
    bool measured_load = true;    ///< one sequence, no longer than those that were measured
};

/// How tokens choose the experts of a layer in a decode pass, and what follows.
struct ServedExperts {
    ExpertRouting routing{};
    double held = 0;       ///< by a chip, of each layer
    double read = 0;       ///< of each layer by the chips together, as expected for the pass
    double imbalance = 1;  ///< largest over mean popularity of a chip's experts; 1: chips are alike
};

/// The search whose best set-up an answer is of.
struct SearchedServing {
    std::string on;                      ///< all chips that were searched: "h100-sxm:8"
    std::int64_t chips = 0;              ///< of it
    std::string set_up;                  ///< "2 chips (tensor=2)"
    std::int64_t replicas = 1;           ///< of the set-up on these chips
    bool meets = true;                   ///< the targets; otherwise it is the one that comes nearest
    std::vector<std::string> command{};  ///< that repeats the answer, option by option
};

/// The predicted serving of a model on a slice.
struct ServeAnswer {
    Model model;
    WeightBytes weights;
    Dtype kv_dtype = Dtype::bf16;
    std::string machine_id;
    std::int64_t prompt = 0;
    std::int64_t output = 0;
    std::int64_t batch = 0;
    std::int64_t chunk = 0;  ///< prompt tokens that are prefilled together, for the memory requirement

    Slice slice;
    Plan plan;
    std::vector<MeshAxis> mesh;                 ///< mesh of the plan
    bool plan_chosen = false;                   ///< the plan was not given but chosen
    std::optional<SearchedServing> searched{};  ///< if the requests in flight and the servers were, too
    CacheSplit caches = CacheSplit::heads;

    ServingMemory slice_memory;      ///< of the whole slice; each byte counts once
    ServingMemory chip_memory;       ///< of one chip, with padding of uneven shards
    std::optional<double> capacity;  ///< bytes of one chip; empty if the machine does not specify it
    bool fits = true;
    std::int64_t max_batch = 0;  ///< sequences; 0: not even one fits
    /// What its server has room for; empty if no server is known, or the machine does not specify the memory.
    std::optional<ServedRoom> served{};

    std::optional<PrefillPool> prefill_pool;  ///< of disaggregated serving; all else is that of a slice that decodes

    Prediction prefill;                   ///< one prompt per member of `data`
    Prediction decode;                    ///< a decode pass at the average context; with speculation, a verification
    std::int64_t context = 0;             ///< average context of a decode step in tokens
    RoutingBound least_prefill;           ///< bound for any choice of experts
    RoutingBound least_decode;            ///< likewise
    std::optional<ServedExperts> routed;  ///< empty without experts
    double first_step_s = 0;              ///< time per token where the first one is decoded after the prompt
    double last_step_s = 0;               ///< and where the last one is
    std::vector<ServePoint> frontier;
    std::optional<std::size_t> knee;  ///< point of the frontier with the highest throughput per time per output token
    [[nodiscard]] bool experts() const { return !compute_bound_known; }
    bool compute_bound_known = false;  ///< the critical batch was solved exactly, which is not possible with experts
    ComputeBoundBatch compute_bound;
    std::optional<SmallestSlice> smallest;
    std::optional<SpeculatedServing> speculation;
    std::string exchange_server{};  ///< whose kernels exchange tokens with experts; "": they were asked for
    std::optional<MeasuredPasses> whole_passes{};  ///< empty: expected times are those of kernels, if any
    std::optional<ServedLoad> under_load;          ///< only if the passes and a server are calibrated
    std::optional<SimulatedLoad> load;             ///< of the question's load; `under_load` has its means
    std::vector<std::string> notes;
    std::optional<EmittedLaunch> emitted{};  ///< the plan as a framework's launch, if that was asked for
};

/// Returns whether the model and what is asked for fit in the memory of the chips, as far as that is known.
[[nodiscard]] bool holds_model(const ServeAnswer& answer);

/// Returns the number of members of a plan that process different sequences.
[[nodiscard]] std::int64_t prompts_at_once(const Plan& plan);

/// Returns the number of sequences of a batch that go through a pass together. In a pipeline every stage works on a
/// different group.
[[nodiscard]] std::int64_t sequences_at_once(const Plan& plan, std::int64_t batch);

/// Returns the time of a pass in seconds: the expected time, or the sequential time if it is not calibrated.
[[nodiscard]] double pass_seconds(const Prediction& pass);

/// Returns whether the answer's times are expected times.
[[nodiscard]] bool calibrated(const ServeAnswer& answer);

/// Returns the mean number of tokens of each sequence that a step yields: 1 without speculation.
[[nodiscard]] double tokens_per_step(const ServeAnswer& answer);

/// Returns the time of a step in seconds: the decode pass, and with speculation the drafts before it.
[[nodiscard]] double step_seconds(const ServeAnswer& answer);

/// Returns the time per output token in seconds (TPOT), and its lower bound for any choice of experts.
[[nodiscard]] double token_seconds(const ServeAnswer& answer);
[[nodiscard]] double least_token_seconds(const ServeAnswer& answer);

/// Returns the time of the answer's prefill in seconds, by a drafter too.
[[nodiscard]] double prefill_seconds(const ServeAnswer& answer);

/// Returns the tokens/s of a slice that only decodes.
[[nodiscard]] double decode_tokens_per_s(const ServeAnswer& answer);

/// Returns the time to first token of a prompt on otherwise idle slices in seconds, with the transfer of its cache.
[[nodiscard]] double first_token_seconds(const ServeAnswer& answer);

/// Returns the prefill time per prompt of a slice that always has prompts, in seconds.
[[nodiscard]] double prompt_seconds(const ServeAnswer& answer);

/// Returns the number of prefill slices per decode slice at which neither has to wait.
[[nodiscard]] double prefill_ratio(const ServeAnswer& answer);

/// Returns the tokens/s of a slice that both prefills and decodes, or with disaggregated serving the tokens/s per
/// decode slice.
[[nodiscard]] double served_tokens_per_s(const ServeAnswer& answer);
/// Returns the number of chips that produce this throughput: those of the slice and of its prefill slices.
[[nodiscard]] double serving_chips(const ServeAnswer& answer);
/// Returns the number of chips that answer the load.
[[nodiscard]] double load_chips(const ServeAnswer& answer);

/// Returns USD per million tokens for this number of slices that decode, and of those that prefill if there are any,
/// with this throughput. Empty if a chip has no price.
[[nodiscard]] std::optional<double> usd_per_million(const ServeAnswer& answer, double slices, double prefill_slices,
                                                    double tokens_per_s);

/// Returns the same for the slices that answer the load.
[[nodiscard]] std::optional<double> load_usd_per_million(const ServeAnswer& answer, double tokens_per_s);

/// Returns the label of a pass's bottleneck: "HBM".
[[nodiscard]] std::string bound_label(const Prediction& pass);

}  // namespace roofline::core
