// A set-up of servers that a search compares, and what it reaches under load.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/serving_metrics.hpp"
#include "predict/serve/serve.hpp"

namespace roofline::core {

/// Which figure of a run's times is held against a target.
enum class TimeStatistic { mean, p50, p90, p99 };
[[nodiscard]] double figure_of(const TimeSpread& times, TimeStatistic statistic);

/// What a choice of dtypes and chunk is.
struct ServedForm {
    std::optional<Dtype> weights{};   ///< empty: as in the checkpoint
    std::optional<Dtype> kv_dtype{};  ///< empty: as in the checkpoint, or bf16
    std::int64_t chunk = prefill_chunk;

    bool operator==(const ServedForm&) const = default;
};

/// Servers that prefill for others.
struct PrefillServers {
    Slice slice;
    std::string machine;  ///< its name
    Plan plan;
    std::int64_t workers = 1;
};

/// Servers of one deployment, and the requests that they have in flight.
struct ServingSetUp {
    ServedForm form{};
    Slice slice;
    Plan plan;
    std::int64_t workers = 1;                 ///< servers that decode; 1 without `prefill`
    std::int64_t batch = 1;                   ///< requests in flight by worker that decodes
    std::optional<PrefillServers> prefill{};  ///< disaggregated serving

    [[nodiscard]] std::int64_t chips() const;
    [[nodiscard]] std::int64_t concurrency() const { return batch * workers; }
    /// Whether both are the same servers, whatever requests they have in flight.
    [[nodiscard]] bool same_servers(const ServingSetUp& other) const;
};

/// What users see of a set-up, and what it makes.
struct ServingRates {
    TimeSpread ttft;          ///< seconds
    TimeSpread tpot;          ///< seconds
    double tokens_per_s = 0;  ///< output tokens of the deployment
    double requests_per_s = 0;

    /// Output tokens/s of one request after its first token.
    [[nodiscard]] double user_tokens_per_s() const { return tpot.mean > 0 ? 1 / tpot.mean : 0; }
};

/// A set-up with its rates.
struct ServingPlan {
    ServingSetUp set_up;
    ServingRates rates;
    std::optional<double> usd_per_million{};  ///< empty: a chip has no price
    double memory_bytes = 0;                  ///< of a chip that decodes
    bool fits = true;

    [[nodiscard]] double tokens_per_s_per_chip() const;
};

/// Returns the question of `roofline serve` about a set-up: that of the job with its plan, requests in flight and
/// pools.
[[nodiscard]] ServeQuestion question_of(const ServeQuestion& job, const ServingSetUp& set_up);

/// The error `interrupted`, of a search that ServeQuestion::stop has ended.
[[nodiscard]] tl::unexpected<Error> interrupted_search();

/// Predicts a set-up as predict_serving() does: under a closed loop of its requests, or without calibration, where no
/// kernels overlap and prompts take turns with decoding. Errors: those of predict_serving();
/// `interrupted`.
[[nodiscard]] Result<ServingPlan> priced_set_up(const ServeQuestion& job, const ServingSetUp& set_up,
                                                const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
