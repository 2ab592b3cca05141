// The best set-up for serving a model: a search over servers, their plans, their number and the requests in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "predict/plan/search_progress.hpp"
#include "predict/serve_plan/serving_changes.hpp"
#include "predict/serve_plan/serving_set_up.hpp"

namespace roofline::core {

/// What a set-up is best for.
enum class ServingObjective {
    throughput,  ///< output tokens/s per chip
    cost,        ///< USD per million output tokens
    chips,       ///< chips that carry a rate of requests
};

/// Chips of a machine for servers that only prefill.
struct PrefillChips {
    Slice slice;          ///< all of them
    std::string machine;  ///< its name
};

struct ServingSearch {
    /// The job. Its slice has all chips that may be used; plan, dtypes, chunk, requests in flight and pools are
    /// searched.
    ServeQuestion job;
    bool together = true;  ///< servers that prefill and decode
    bool apart = true;     ///< disaggregated servers
    /// Chips for prefill beside those of the job; empty: both share those of the job.
    std::optional<PrefillChips> prefill{};
    FixedAxes fixed{};                   ///< degrees of servers that decode
    FixedAxes prefill_fixed{};           ///< of those that only prefill
    std::vector<std::string> without{};  ///< axes that are not used
    std::vector<ServedForm> forms{ServedForm{}};
    ServingTargets targets{};
    TimeStatistic statistic = TimeStatistic::p99;  ///< that must meet the targets
    ServingObjective objective = ServingObjective::throughput;
    double rate = 0;           ///< requests/s of all servers, for ServingObjective::chips
    std::size_t shown = 6;     ///< of the best set-ups that differ in their servers
    bool elasticities = true;  ///< false: without them, which take as long as some simulations
    SearchWatcher watch{};     ///< of the servers that are laid out, and of the set-ups that are simulated
    std::size_t threads = 1;
};

/// Set-ups of servers, each with a number of requests in flight, by what became of them. A plan without any counts as
/// one set-up.
struct ServingCounts {
    std::int64_t searched = 0;
    std::int64_t priced = 0;   ///< simulated as `roofline serve` does
    std::int64_t divides = 0;  ///< plans whose degrees do not divide the model
    std::int64_t memory = 0;   ///< no room for the weights, or for so many requests
    std::int64_t target = 0;   ///< estimated or simulated to miss a target
    std::int64_t slower = 0;   ///< estimated to be worse than those that were priced
    std::int64_t failed = 0;   ///< plans that cannot be predicted on these chips
};

struct ServingSearchAnswer {
    ServingPlan best;           ///< the best that meets the targets, or the nearest if none does
    bool meets = false;         ///< whether it meets them
    ServeAnswer served;         ///< the answer of `roofline serve` for it
    bool expected = true;       ///< times are expected ones; otherwise kernels do not overlap
    std::int64_t replicas = 1;  ///< of it on the chips that there are, or that carry the rate
    /// Requests/s that arrive at each of those that carry the rate, of which `best` has the rates; 0: in a closed loop.
    double rate_of_each = 0;
    std::vector<ServingPlan> plans{};  ///< that meet the targets, the best first, with different servers
    std::vector<ServingPlan>
        frontier{};  ///< more tokens/s per user or per chip than any other; the fastest users first
    ServingChanges changes{};
    std::vector<BetterServing> next{};  ///< what would be better with other targets
    ServingCounts counts{};
    std::vector<std::string> notes{};
};

/// Returns what is to be least: chips, or USD per second, for a token per second; for ServingObjective::chips the chips
/// that carry the rate. Infinite without a price.
[[nodiscard]] double value_of(const ServingSearch& search, const ServingPlan& plan);

/// Returns the share of measured pairs of set-ups, as far apart as these, of which the better one was expected to be
/// the better one (share_of_set_ups_in_order()); empty without expected times.
[[nodiscard]] std::optional<double> certainty(const ServingSearch& search, const ServingSearchAnswer& answer,
                                              const ServingPlan& other);

/// Whether a set-up meets the targets of the search.
[[nodiscard]] bool meets(const ServingSearch& search, const ServingRates& rates);

/// Searches for the best set-up. Plans are compiled once, and the steady state with 1, 2, 3, 4, 6, 8.. times as many
/// requests as their members take is estimated by saturation_rate(); from the best estimate on, the largest number of
/// requests that meets the targets is found by simulation, until what is left is estimated to be clearly worse than
/// what was simulated. The frontier is that of all simulated set-ups, among them the best estimate in each range of
/// tokens/s per user. Errors: `no_fit` if no set-up has room for a request; those of the job; of all plans, the first
/// one, if none can be predicted; `no_price` for a cost without one; `interrupted` by the job's `stop` or by `watch`.
[[nodiscard]] Result<ServingSearchAnswer> search_serving(const ServingSearch& search,
                                                         const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
