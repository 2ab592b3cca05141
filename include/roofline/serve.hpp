// What serving a model takes: memory, the first token, the tokens after it, throughput and cost.
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

/// Over how many chips each strategy of parallelism splits a model that serves. The sizes multiply to the chips of the
/// slice.
struct ServingPlan {
    std::int64_t data = 1;      ///< requests; every member holds the weights
    std::int64_t tensor = 1;    ///< heads, the columns of the MLP and the vocabulary
    std::int64_t expert = 1;    ///< requests, but experts where tokens are sent to them
    std::int64_t pipeline = 1;  ///< layers
};

/// A model in service, and how that is priced.
struct ServingSetup {
    std::int64_t prompt = 1024;         ///< tokens of each request that go in
    std::int64_t output = 256;          ///< tokens of each request that come out
    std::int64_t batch = 1;             ///< requests that are decoded together
    std::int64_t prefill_chunk = 8192;  ///< tokens of a long prompt that are taken in together
    std::optional<ServingPlan> plan{};  ///< none: the fastest of a few that hold the batch
    std::optional<Dtype> weights{};     ///< of all parameters; none: as the checkpoint stores them
    std::optional<Dtype> kv_cache{};    ///< none: bf16, or what the checkpoint asks for
    bool disaggregated = false;         ///< prefill has slices of its own
    std::string software{};  ///< a server, "vllm", or a library: whose measured times are expected; "": the newest
    bool calibrated = true;  ///< expect times at all; else bounds alone
    bool textbook = false;   ///< collectives as people approximate them by hand
};

/// Bytes of one chip, or of a whole slice with each byte once.
struct ServingMemory {
    Bytes weights;
    Bytes kv;  ///< keys and values, and the states of recurrences
    Bytes activations;
    Bytes total;
};

/// A pass through the model: of a prompt for each replica, or of one token for each request of the batch.
struct ServingPassTimes {
    Seconds lower;       ///< no run is faster, whichever experts the tokens choose
    Seconds sequential;  ///< each statement at its own lower bound, one after another
    Seconds no_overlap;  ///< as if nothing overlapped
    std::optional<Expected> expected{};
    std::string bound_by{};  ///< the id of the resource that decides `lower`
};

/// What a batch size gives and costs.
struct ServingPoint {
    std::int64_t batch = 0;
    Seconds lower;                         ///< of a step
    Seconds time_per_token;                ///< TPOT: expected, or `sequential` where nothing is calibrated
    Frequency tokens_rate;                 ///< tokens per second of the slice
    std::optional<Usd> usd_per_million{};  ///< tokens; empty without a price
};

/// A server under load: `batch` requests at a time, each followed by the next.
struct ServingLoad {
    std::string software;         ///< whose constants these are: "vllm"
    double error = 0;             ///< relative, of the time per token, on models that the constants were not fitted to
    Seconds time_to_first_token;  ///< TTFT, waiting included
    Seconds time_per_token;       ///< TPOT, with the prompts of others in between
    Frequency tokens_rate;        ///< tokens per second of the slice
};

/// What predict_serving() answers. Plain values, but for the text of to_json().
struct ServingPrediction {
    ServingMemory memory{};           ///< of one chip
    std::optional<Bytes> capacity{};  ///< of one chip's main memory; empty: not published
    bool fits = true;
    std::optional<std::int64_t>
        max_batch{};  ///< requests that fit; 0: not even one; empty where no capacity is published
    ServingPassTimes prefill{};
    ServingPassTimes decode{};             ///< at the context that a request has on average
    Seconds time_to_first_token;           ///< TTFT of one prompt that has the slice to itself
    Seconds time_per_token;                ///< TPOT
    Frequency tokens_rate;                 ///< tokens per second of the slice, while it decodes
    Frequency served_tokens_rate;          ///< the same where the same chips prefill as well
    std::optional<Usd> usd_per_million{};  ///< tokens that come out, prefill included; empty without a price
    std::vector<ServingPoint> frontier{};  ///< by batch
    std::optional<ServingLoad> under_load{};
    std::vector<std::string> notes{};

    /// The line that `roofline serve --json` prints for the same question.
    [[nodiscard]] std::string to_json() const;

    /// For the library alone.
    struct Data;
    std::shared_ptr<const Data> data{};
};

/// What serving the model on the slice takes. Errors: numbers of tokens or requests below 1 or beyond 2^24, or beyond
/// the model's context; a plan that the model or the slice does not take (`bad_plan`); work that the machine has no
/// rate for. A batch that does not fit is an answer, not an error.
[[nodiscard]] Result<ServingPrediction> predict_serving(const Model& model, const System& system,
                                                        const ServingSetup& setup);

}  // namespace roofline
