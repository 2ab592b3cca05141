// All set-ups of a search with an estimate of what each does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "predict/plan/search_watch.hpp"
#include "predict/serve_plan/serving_instance.hpp"
#include "predict/serve_plan/serving_search.hpp"

namespace roofline::core {

/// A set-up by its servers' places in a list.
struct ServingCandidate {
    std::size_t server = 0;                ///< that decodes
    std::optional<std::size_t> prefill{};  ///< that prefills for it
    std::int64_t batch = 1;                ///< by server that decodes
    std::int64_t workers = 1;
    std::int64_t prefill_workers = 0;
    std::int64_t chips = 1;
    double requests_per_s = 0;  ///< estimated, and so are the times; waiting is not counted
    double ttft_s = 0;
    double tpot_s = 0;
    double usd_per_s = 0;  ///< NaN without a price
};

/// The candidates of a search.
struct ServingCandidates {
    std::vector<ServingSetUp> servers;         ///< one of each kind, with a batch of 1
    std::vector<ServingCandidate> candidates;  ///< by server, prefill and batch
    ServingCounts counts;
    bool expected = true;          ///< estimates are made; otherwise only set-ups are listed
    std::optional<Error> error{};  ///< of the first plan that cannot be predicted

    [[nodiscard]] ServingSetUp set_up_of(const ServingCandidate& candidate) const;
};

/// Returns the candidates. `watch` counts the servers that are laid out. Errors: those of the job.
[[nodiscard]] Result<ServingCandidates> serving_candidates(const ServingSearch& search,
                                                           const std::shared_ptr<Calibrations>& calibrations,
                                                           SearchWatch& watch);

}  // namespace roofline::core
