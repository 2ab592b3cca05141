// Predicted serving of a model on a slice: memory, prefill, decode, throughput, and the throughput-latency frontier.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "model/config.hpp"
#include "model/expert_routing.hpp"
#include "network/slice.hpp"
#include "plan/plan.hpp"
#include "predict/serve/draft_question.hpp"
#include "predict/serve/prefill_pool.hpp"
#include "predict/serve/serve_answer.hpp"
#include "predict/serve/served_load.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// The largest number of tokens and of sequences that a question may contain.
inline constexpr std::int64_t max_serving_size = std::int64_t{1} << 24;

/// Tokens per chunk of a long prompt: the default of vLLM (max_num_batched_tokens, H100) and SGLang
/// (chunked_prefill_size).
inline constexpr std::int64_t prefill_chunk = 8192;

/// A question for the serving of a model on a slice.
struct ServeQuestion {
    Config config;                    ///< of the model
    std::optional<Dtype> weights{};   ///< of all parameters; empty: as in the checkpoint
    std::optional<Dtype> kv_dtype{};  ///< empty: bf16, or the cache dtype that the checkpoint specifies
    Slice slice;
    std::string machine{};               ///< name of the machine in the answer; "": its id
    std::optional<Plan> plan{};          ///< empty: the best of a few candidates
    std::int64_t prompt = 1024;          ///< tokens per request
    std::int64_t output = 256;           ///< tokens per request
    std::int64_t batch = 1;              ///< sequences that are decoded together
    std::int64_t chunk = prefill_chunk;  ///< prompt tokens that are prefilled together
    std::string software{};              ///< server or library whose calibration is used; "": the newest
    std::string exchange{};  ///< kernels that exchange tokens with experts: "deepep"; "": those of the server
    bool textbook = false;   ///< approximate collectives as textbooks do
    std::optional<DisaggregatedQuestion> disaggregated{};  ///< prefill runs on separate slices
    std::optional<DraftQuestion> draft{};                  ///< empty: a step generates one token of each sequence
    double balancedness =
        0;  ///< of experts on their chips under load, 0 to 1; 0: by popularity and chance (PlacedExperts)
    ExpertRouting routing{};   ///< of experts, also those of prefill slices and of the model's own layer that drafts
    bool two_batches = false;  ///< under load the collectives of half a batch run beside the kernels of the other half
    std::optional<double> memory_fraction{};  ///< that a server uses, above 0 to 1; empty: its software's default
    std::int64_t block = 0;                   ///< tokens per block of the KV cache; 0: its software's default
    std::optional<LoadQuestion> load{};  ///< empty: a closed loop of `batch` requests at a time, without percentiles
    bool load_only = false;              ///< true: room and load alone, without bounds, other batches and slices
    bool frontier = true;  ///< false: without the other batches, which take most of the time; not with a draft
    std::vector<std::string> notes{};  ///< notes of the caller, which precede those of the answer
    std::function<bool()> stop{};  ///< ends a search for servers by returning true; several threads call it at a time
};

/// Predicts the serving of a model. Errors: sizes out of range or larger than the model's context; a plan that does not
/// suit the model or the slice; work that the machine has no rate for; a load on passes
/// without expected times (ExpectedServing::make()) or of a server without a model, or without room for a sequence
/// (no_room()), and those of check_requests(), simulated_load(), check_routing(), check_placement() and
/// speculation_of().
[[nodiscard]] Result<ServeAnswer> predict_serving(ServeQuestion question, std::shared_ptr<Calibrations> calibrations);

/// A set-up whose servers take any load.
struct LoadableServing {
    ServeAnswer answer;       ///< with room, and without a load, bounds, other batches and slices
    LoadableServers servers;  ///< of the answer
};
/// Predicts as predict_serving() does, but simulates no load: that is for the caller to do, with one after another.
/// Errors: those of predict_serving() and loadable_servers().
[[nodiscard]] Result<LoadableServing> loadable_serving(ServeQuestion question,
                                                       std::shared_ptr<Calibrations> calibrations);

}  // namespace roofline::core
