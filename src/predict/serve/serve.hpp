// What a model costs to serve on a slice: memory, prefill, decode, throughput, the frontier.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "model/config.hpp"
#include "network/slice.hpp"
#include "plan/plan.hpp"
#include "predict/serve/serve_answer.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// The largest number of tokens and sequences that a question takes.
inline constexpr std::int64_t most_served = std::int64_t{1} << 24;

/// Tokens of a chunk of a long prompt: what vLLM (max_num_batched_tokens, H100) and SGLang (chunked_prefill_size) take
/// by default.
inline constexpr std::int64_t prefill_chunk = 8192;

struct ServeQuestion {
    Config config;                    ///< of the model
    std::optional<Dtype> weights{};   ///< of all parameters; none: as the checkpoint stores them
    std::optional<Dtype> kv_dtype{};  ///< none: bf16, or what the checkpoint asks for
    Slice slice;
    std::string machine{};               ///< what the machine is called in the answer; "": its id
    std::optional<Plan> plan{};          ///< none: the best of a few
    std::int64_t prompt = 1024;          ///< tokens per request
    std::int64_t output = 256;           ///< tokens per request
    std::int64_t batch = 1;              ///< sequences that are decoded together
    std::int64_t chunk = prefill_chunk;  ///< tokens of a prompt that are prefilled together
    std::string software{};              ///< a server or library: whose calibration; "": the newest
    bool textbook = false;               ///< collectives as people approximate them by hand
    bool disaggregated = false;          ///< prefill has slices of its own
    std::vector<std::string> notes{};    ///< of the one who asks; the answer's begin with them
};

/// Errors: sizes out of range or beyond the model's context; a plan that the model or the slice does not take; work
/// that the machine has no rate for.
[[nodiscard]] Result<ServeAnswer> predict_serving(ServeQuestion question, std::shared_ptr<Calibrations> calibrations);

}  // namespace roofline::core
