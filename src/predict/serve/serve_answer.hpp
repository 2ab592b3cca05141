// Everything that an answer of `roofline serve` is printed from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "model/weights.hpp"
#include "plan/plan.hpp"
#include "plan/serving_memory.hpp"
#include "plan/serving_split.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// One batch size of the frontier.
struct ServePoint {
    std::int64_t batch = 0;
    double lower_s = 0;          ///< of a step, whatever experts the tokens choose
    double tpot_s = 0;           ///< of a step: expected, or in turn
    double tokens_per_s = 0;     ///< of the slice
    std::string bound_by;        ///< "HBM": of a step whose tokens choose experts uniformly
    double uniform_lower_s = 0;  ///< of such a step; the same as lower_s without experts
};

/// The batch from which a decode step is compute-bound.
struct ComputeBoundBatch {
    std::optional<double> step;      ///< all of it; none: never
    std::optional<double> weights;   ///< products with weights alone; none: never
    std::optional<double> textbook;  ///< ridge times bytes of a weight over 2, and for experts E / A of that
};

/// The smallest slice of a machine that holds what is asked for.
struct SmallestSlice {
    std::string name;  ///< "tpu-v5e:2x4"
    std::int64_t chips = 0;
};

/// What a server is expected to do with so many requests at a time, each followed by the next.
struct ServedLoad {
    std::string software;     ///< whose constants these are: "vllm"
    double error = 0;         ///< of the time of a token, on models that they were not fitted to
    double ttft_s = 0;        ///< to the first token, waiting included
    double tpot_s = 0;        ///< from one token of a request to the next, with the prompts of others in between
    double running = 0;       ///< requests that are decoded at a time
    double tokens_per_s = 0;  ///< of the slice
};

struct ServeAnswer {
    Model model;
    WeightBytes weights;
    Dtype kv_dtype = Dtype::bf16;
    std::string machine_id;
    std::int64_t prompt = 0;
    std::int64_t output = 0;
    std::int64_t batch = 0;
    std::int64_t chunk = 0;  ///< tokens of a prompt that are taken in together, where memory is concerned
    bool disaggregated = false;

    Slice slice;
    Plan plan;
    std::vector<MeshAxis> mesh;  ///< that it became
    bool plan_chosen = false;    ///< nobody named one
    CacheSplit caches = CacheSplit::heads;

    ServingMemory slice_memory;      ///< each byte once
    ServingMemory chip_memory;       ///< of one chip, padded
    std::optional<double> capacity;  ///< of one chip; none where the machine does not say
    bool fits = true;
    std::int64_t max_batch = 0;  ///< 0: not even one sequence

    Prediction prefill;          ///< one prompt for each member of `data`
    Prediction decode;           ///< a step at the context that it has on average
    std::int64_t context = 0;    ///< that one
    RoutingBound least_prefill;  ///< whatever experts the tokens choose
    RoutingBound least_decode;   ///< likewise
    double first_step_s = 0;     ///< of the first token after the prompt's
    double last_step_s = 0;      ///< of the last token
    std::vector<ServePoint> frontier;
    std::optional<std::size_t> knee;  ///< of the frontier: the most tokens/s for the time of a token
    [[nodiscard]] bool experts() const { return !compute_bound_known; }
    bool compute_bound_known = false;  ///< whether the exact sizes were solved for: not where experts share tokens
    ComputeBoundBatch compute_bound;
    std::optional<SmallestSlice> smallest;
    std::optional<ServedLoad> under_load;  ///< where its passes and a server are calibrated
    std::vector<std::string> notes;
};

/// The members of a plan that have sequences of their own.
[[nodiscard]] std::int64_t prompts_at_once(const Plan& plan);

/// The sequences of a batch that go through a pass together: of a pipeline each stage works on others.
[[nodiscard]] std::int64_t sequences_at_once(const Plan& plan, std::int64_t batch);

/// What a pass is taken to last: expected, or where nothing is calibrated its kernels in turn.
[[nodiscard]] double pass_seconds(const Prediction& pass);

/// Whether times are expected ones.
[[nodiscard]] bool calibrated(const ServeAnswer& answer);

/// Of a slice that only decodes: tokens/s.
[[nodiscard]] double decode_tokens_per_s(const ServeAnswer& answer);

/// Seconds of prefill for each prompt.
[[nodiscard]] double prompt_seconds(const ServeAnswer& answer);

/// Slices that prefill for each that decodes, so that neither waits.
[[nodiscard]] double prefill_ratio(const ServeAnswer& answer);

/// Tokens/s that come out where the same chips prefill as well, or with --disaggregated of each slice that decodes.
[[nodiscard]] double served_tokens_per_s(const ServeAnswer& answer);
/// Chips behind that number: those of the slice, and those that prefill for it.
[[nodiscard]] double serving_chips(const ServeAnswer& answer);

/// Dollars for a million tokens of `chips` chips that make so many a second; none without a price.
[[nodiscard]] std::optional<double> usd_per_million(const ServeAnswer& answer, double chips, double tokens_per_s);

/// "HBM": what bounds a pass.
[[nodiscard]] std::string bound_label(const Prediction& pass);

}  // namespace roofline::core
