// Serving a model: memory, time to first token, time per output token, throughput and cost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "roofline/dtype.hpp"
#include "roofline/machine.hpp"
#include "roofline/model.hpp"
#include "roofline/predict.hpp"
#include "roofline/result.hpp"
#include "roofline/units.hpp"

namespace roofline {

/// A parallelism plan for serving: the number of chips along each axis. Their product is the number of chips of the
/// slice. Each comment says what the chips of the axis split.
struct ServingPlan {
    std::int64_t data = 1;      ///< requests; every member holds the weights
    std::int64_t tensor = 1;    ///< heads, columns of the MLP, and the vocabulary
    std::int64_t expert = 1;    ///< requests, and within expert layers the experts
    std::int64_t pipeline = 1;  ///< layers
    /// Experts lie over the chips of `tensor`, too, which then hold whole experts and not columns of each.
    bool experts_over_tensor = false;
};

/// Speculative decoding: tokens of each request are drafted, and the model verifies them all in one pass. Its own layer
/// that predicts further tokens (multi-token prediction) drafts if it has one; without one and without a draft model a
/// lookup in the text, which costs nothing.
struct Speculation {
    std::int64_t draft_tokens = 1;       ///< drafted for each step of a request, 1 to 16
    double acceptance = 0;               ///< probability that a drafted token is accepted if all before it were
    std::optional<Model> draft_model{};  ///< drafts instead, one token after another
};

/// The slices that prefill for those that decode (disaggregated serving).
struct PrefillPool {
    std::optional<System> slice{};      ///< without a mesh; empty: like the slice that decodes, with the same plan
    std::optional<ServingPlan> plan{};  ///< empty: of several candidates the one with the most prompts per second
    std::int64_t workers = 0;           ///< such slices under a load, up to 1000; 0: as many as decode keeps busy
    std::int64_t decode_workers = 1;    ///< slices that decode under a load, up to 1000
    bool transfer_by_layer = false;     ///< caches are sent layer by layer during prefill
};

/// The tokens of one request.
struct RequestLength {
    std::int64_t prompt = 1;
    std::int64_t output = 1;
};

/// The load of a simulated server.
struct ServingLoadSetup {
    std::optional<Frequency> rate{};  ///< requests arrive at random at this rate (open loop); empty: a closed loop
    std::int64_t concurrency = 1;     ///< closed loop: requests in flight, each followed by the next; up to 100,000
    std::int64_t requests = 0;        ///< simulated requests, up to a million; 0: ten per request in flight
    std::vector<RequestLength> lengths{};  ///< of the requests, in turn; empty: those of the setup
    double cached = 0;                     ///< fraction of each prompt that a prefix cache has, 0 to 1
    bool prefill_first = false;            ///< nothing is decoded beside prompts
    std::optional<Seconds> ttft{};         ///< target of TTFT: goodput, and the largest load that meets it
    std::optional<Seconds> tpot{};         ///< target of TPOT, likewise
};

/// How popular the experts of a layer are, the same in all layers.
struct ExpertRouting {
    double zipf = 0;  ///< the i-th most popular expert is chosen in proportion to i^-zipf, 0 to 10; 0: all alike
    /// In place of this law, a number per expert in the order of ids: tokens that chose it, or their share.
    std::vector<double> measured{};
};

/// What is served, and how it is priced.
struct ServingSetup {
    std::int64_t prompt = 1024;                ///< input tokens per request
    std::int64_t output = 256;                 ///< output tokens per request
    std::int64_t batch = 1;                    ///< requests that are decoded together
    std::int64_t prefill_chunk = 8192;         ///< tokens of a long prompt that are prefilled together
    std::optional<ServingPlan> plan{};         ///< empty: the fastest of several candidates that hold the batch
    std::optional<Dtype> weights{};            ///< dtype of all parameters; empty: as the checkpoint stores them
    std::optional<Dtype> kv_cache{};           ///< empty: the checkpoint's choice, otherwise bf16
    std::optional<double> memory_fraction{};   ///< of a chip's memory that the server uses; empty: its default
    std::int64_t cache_block = 0;              ///< tokens per block of the KV cache; 0: the server's default
    std::optional<Speculation> speculation{};  ///< empty: a step generates one token of each request
    std::optional<PrefillPool> prefill{};      ///< empty: the same slice prefills and decodes
    std::optional<ServingLoadSetup> load{};    ///< empty: `batch` requests in flight, without percentiles
    double balancedness = 0;                   ///< mean over largest load of a chip's experts under load; 0: by chance
    ExpertRouting routing{};                   ///< which experts tokens choose
    /// Replicas of popular experts per layer over all chips, placed as EPLB does; 0: it only places experts. Empty:
    /// none, and experts lie in the order of ids.
    std::optional<std::int64_t> redundant_experts{};
    bool two_batch_overlap = false;  ///< under load, exchanges of half a batch beside the kernels of the other half
    std::string software{};          ///< Server ("vllm") or library whose calibration is used; "" selects the newest.
    std::string exchange{};          ///< kernels by which tokens get to experts ("deepep"); "": those of the server
    bool calibrated = true;          ///< predict expected times; otherwise bounds only
    bool textbook = false;           ///< approximate collectives as one does by hand
};

/// Bytes per chip, or per slice with replicated data counted once.
struct ServingMemory {
    Bytes weights;
    Bytes kv;  ///< keys and values, and states of recurrences
    Bytes activations;
    Bytes total;
};

/// What a server has room for, which does not use all of a chip's memory.
struct ServerRoom {
    std::string software;        ///< whose defaults hold: "vllm"; "": none's
    double memory_fraction = 1;  ///< that it uses
    std::string fraction_of;  ///< "all" of a chip's memory, "static" (weights and KV cache) or "free" (beside weights)
    std::int64_t cache_block = 1;  ///< tokens per block of the KV cache
    Bytes cache;                   ///< of one chip, for KV caches
    std::int64_t tokens = 0;       ///< of the whole slice
    std::int64_t max_batch = 0;    ///< requests of the setup's lengths; 0 if not even one fits
};

/// Times of one pass through the model: prefill of one prompt per replica, or one decode step of the batch.
struct ServingPassTimes {
    Seconds lower;       ///< lower bound for any choice of experts
    Seconds sequential;  ///< sum of the statements' lower bounds
    Seconds no_overlap;  ///< sum of the times of all resources
    std::optional<Expected> expected{};
    std::string bound_by{};  ///< id of the resource that determines `lower`
};

/// Performance and cost at one batch size.
struct ServingPoint {
    std::int64_t batch = 0;
    Seconds lower;                         ///< of the time per token
    Seconds time_per_token;                ///< TPOT: expected, or `sequential` without a calibration
    Frequency tokens_per_second;           ///< of the whole slice
    std::optional<Usd> usd_per_million{};  ///< per million output tokens; empty without a price
};

/// A server under closed-loop load: `batch` requests are in flight, and each that ends is followed by the next.
struct ServingLoad {
    std::string software;         ///< the server whose calibration is used: "vllm"
    double error = 0;             ///< mean relative error of the time per token on models that were not part of the fit
    Seconds time_to_first_token;  ///< TTFT, with queueing
    Seconds time_per_token;       ///< TPOT, with prefills of other requests in between
    Frequency tokens_per_second;  ///< of the whole slice
};

/// The mean and percentiles of a time.
struct TimeSpread {
    Seconds mean;
    Seconds p50;
    Seconds p90;
    Seconds p99;
};

/// A simulated server.
struct SimulatedServing {
    std::int64_t requests = 0;  ///< that were simulated
    TimeSpread time_to_first_token{};
    TimeSpread time_per_token{};
    TimeSpread time_between_tokens{};  ///< from any token to the next (ITL)
    TimeSpread latency{};              ///< from arrival to the last token
    Frequency requests_per_second;
    Frequency tokens_per_second;
    Frequency saturation;                ///< rate from which on the queue of an open loop grows without bound
    std::optional<Frequency> goodput{};  ///< requests per second that meet the targets; empty without targets
    /// The largest rate, or without a rate the largest concurrency, of which the 99th percentiles meet the targets; 0
    /// if none does, empty without targets.
    std::optional<double> largest{};
};

/// The slices that prefill, and the caches that they send.
struct PrefillPoolPrediction {
    double slices_per_decode_slice = 0;  ///< that keep each other busy at the batch
    ServingPlan plan{};
    Bytes memory;  ///< of one chip
    bool fits = true;
    std::optional<Bytes> transferred{};    ///< cache of a prompt; empty if a machine has no network between slices
    std::optional<Seconds> transfer{};     ///< its time
    std::optional<Seconds> first_token{};  ///< the part of it that delays the first token
};

/// What speculation costs and gains.
struct SpeculationGain {
    double tokens_per_step = 1;      ///< that a step yields of each request on average
    Seconds verification;            ///< the decode pass of a step
    Seconds drafts;                  ///< of a step, one after another
    Seconds time_per_token_without;  ///< TPOT of the same set-up without speculation
    double gain = 1;                 ///< `time_per_token_without` over TPOT
    /// The batch of the frontier from which on nothing is gained; empty if the largest gains.
    std::optional<std::int64_t> no_gain_from{};
};

/// The answer of predict_serving(). All members are plain values; only to_json() needs `data`.
struct ServingPrediction {
    ServingMemory memory{};           ///< of one chip
    std::optional<Bytes> capacity{};  ///< of one chip's main memory; empty if not published
    bool fits = true;
    /// Requests that fit; 0 if not even one fits, empty if no capacity is published.
    std::optional<std::int64_t> max_batch{};
    /// Its server's room, which the figures under load rest on; empty if no server is known, or no capacity published.
    std::optional<ServerRoom> server_room{};
    ServingPassTimes prefill{};
    ServingPassTimes decode{};             ///< at the average context; with speculation, a verification
    Seconds time_to_first_token;           ///< TTFT of one prompt on an otherwise idle slice
    Seconds time_per_token;                ///< TPOT
    Frequency tokens_per_second;           ///< of the whole slice while it decodes
    Frequency served_tokens_per_second;    ///< the same if the same chips also prefill
    std::optional<Usd> usd_per_million{};  ///< per million output tokens, prefill included; empty without a price
    std::vector<ServingPoint> frontier{};  ///< ordered by batch size
    std::optional<SpeculationGain> speculation{};
    std::optional<PrefillPoolPrediction> prefill_pool{};
    std::optional<ServingLoad> under_load{};
    std::optional<SimulatedServing> simulated{};  ///< of the setup's load
    std::vector<std::string> notes{};

    /// Returns the line that `roofline serve --json` prints for the same question.
    [[nodiscard]] std::string to_json() const;

    /// Internal to the library.
    struct Data;
    std::shared_ptr<const Data> data{};
};

/// Predicts serving of the model on the slice. Errors: a number of tokens or requests is below 1, exceeds 2^24 or
/// exceeds the model's context; an acceptance is no probability; the plan does not suit the model or the slice
/// (`bad_plan`); experts cannot be chosen so (`bad_routing`) or shared out so (`bad_redundant_experts`); the machine
/// has no rate for part of the work; a fraction of memory that is not above 0 and at most 1; a load without expected
/// times (`not_calibrated`), on a server without room for a request (`does_not_fit`) or beyond what the servers take
/// (`overload`). A batch that does not fit into memory is an answer, not an error.
[[nodiscard]] Result<ServingPrediction> predict_serving(const Model& model, const System& system,
                                                        const ServingSetup& setup);

}  // namespace roofline
