// The expected times of an answer's servers under load.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "plan/serving_queue.hpp"
#include "predict/serve/expected_serving.hpp"
#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// The slices that answer a load.
struct ServedSlices {
    PlannedSlice prefill;  ///< the same as `decode` without disaggregation
    PlannedSlice decode;
    ServingPass typical;   ///< a decode step
    std::string software;  ///< server whose model is used; if it has none, the library with the most measurements
    const SplitPass* best = nullptr;  ///< best_split() of `typical`, if it is known
};

/// Servers of an answer that any load can be simulated on.
struct LoadableServers {
    std::unique_ptr<ExpectedServing> passes;  ///< which the pools refer to
    ServingPools pools;
};
/// Returns the servers of an answer whose room is known. Errors: `not_calibrated` if its passes or its server have no
/// expected times, `does_not_fit` if the servers have no room for a request; those of ExpectedServing::make().
[[nodiscard]] Result<LoadableServers> loadable_servers(const ServeAnswer& answer, const ServedSlices& slices,
                                                       PromptSchedule schedule);

/// Adds the expected times under load to an answer: those of the load, or without one those of a closed loop of as many
/// requests as are decoded together. Without expected times of its passes nothing is added, but an answer to a question
/// about a load is an error (`not_calibrated`), unless not even one request fits, which the answer says. A server
/// without room for one is an error (`does_not_fit`), without a load a note. Other errors: those of check_requests()
/// and simulated_load().
[[nodiscard]] Status add_load(ServeAnswer& answer, const std::optional<LoadQuestion>& load, const ServedSlices& slices);

}  // namespace roofline::core
