#include "predict/serve/instance_plans.hpp"

#include <algorithm>

#include "model/routed_experts.hpp"
#include "plan/expert_placement.hpp"
#include "plan/serving_split.hpp"

namespace roofline::core {

namespace {

// The plans of these degrees: how experts lie over the members.
std::vector<Plan> with_experts(const Plan& base, bool experts, bool replicas) {
    std::vector<Plan> plans;
    if (base.data == 1 || replicas) plans.push_back(base);
    if (!experts) return plans;
    const std::int64_t all = base.data * base.tensor;
    if (all == 1) return plans;
    if (auto spread = with_experts_on_same_chips(base, all)) plans.push_back(std::move(*spread));
    if (base.data > 1 && base.tensor > 1) {
        Plan columns = base;
        columns.data = 1;
        columns.expert = base.data;
        plans.push_back(columns);
    }
    return plans;
}

}  // namespace

InstancePlans instance_plans(const ServedModel& served, const Slice& slice, bool replicas) {
    const Model& model = served.model;
    const std::int64_t chips = slice.chips();
    const bool experts = !routed_experts(model.program).empty();
    InstancePlans found;
    for (std::int64_t pipeline = 1; pipeline <= chips; ++pipeline) {
        if (chips % pipeline != 0 || pipeline > std::max<std::int64_t>(1, model.layer_count)) continue;
        const std::int64_t stage = chips / pipeline;
        for (std::int64_t tensor = stage; tensor >= 1; --tensor) {
            if (stage % tensor != 0) continue;
            Plan base;
            base.pipeline = pipeline;
            base.tensor = tensor;
            base.data = stage / tensor;
            for (Plan& plan : with_experts(base, experts, replicas)) {
                if (served.routing.redundant && !(expert_chips(plan) > 1)) continue;
                if (split_for_serving(model.program, model.roles, plan, CacheSplit::heads)) {
                    found.plans.push_back(std::move(plan));
                } else {
                    ++found.refused;
                }
            }
        }
    }
    return found;
}

}  // namespace roofline::core
