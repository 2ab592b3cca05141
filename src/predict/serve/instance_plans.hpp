// The plans of one server: all that a model allows on some chips.
#pragma once

#include <cstdint>
#include <vector>

#include "network/slice.hpp"
#include "plan/plan.hpp"
#include "predict/serve/served_model.hpp"

namespace roofline::core {

/// The plans of a server, and how many were left out.
struct InstancePlans {
    std::vector<Plan> plans;
    std::int64_t refused = 0;  ///< whose axes do not divide the model, or that it has no dimension for
};

/// Returns the plans of one server on all chips of a slice: every product of tensor, data and pipeline, with experts
/// over all chips, over the members of `data` alone (with their columns over `tensor`) or not spread. Members of `data`
/// that have all weights are replicas of a smaller server; such plans are only listed where `replicas` is set.
[[nodiscard]] InstancePlans instance_plans(const ServedModel& served, const Slice& slice, bool replicas);

}  // namespace roofline::core
