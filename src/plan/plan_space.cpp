#include "plan/plan_space.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace roofline::core {

namespace {

std::vector<std::int64_t> divisors(std::int64_t number) {
    std::vector<std::int64_t> low;
    std::vector<std::int64_t> high;
    for (std::int64_t i = 1; i * i <= number; ++i) {
        if (number % i != 0) continue;
        low.push_back(i);
        if (i * i != number) high.insert(high.begin(), number / i);
    }
    low.insert(low.end(), high.begin(), high.end());
    return low;
}

// The rarer an axis is used alone, the later it stands, so that simple plans come first.
constexpr std::array<std::pair<std::string_view, std::int64_t Plan::*>, 7> searched{{{"fsdp", &Plan::fsdp},
                                                                                     {"data", &Plan::data},
                                                                                     {"tensor", &Plan::tensor},
                                                                                     {"pipeline", &Plan::pipeline},
                                                                                     {"expert", &Plan::expert},
                                                                                     {"context", &Plan::context},
                                                                                     {"sequence", &Plan::sequence}}};

class Splits {
public:
    Splits(const PlanSpace& space, const std::function<void(const Plan&)>& visit) : space_(space), visit_(visit) {}

    std::int64_t run() {
        split(searched.size(), space_.chips, {});
        return undivided_;
    }

private:
    // Splits chips over the first `axes` axes; the others are chosen.
    void split(std::size_t axes, std::int64_t chips, Plan plan) {
        if (axes == 0) {
            if (chips == 1) complete(plan);
            return;
        }
        const auto& [name, degree] = searched[axes - 1];
        for (const std::int64_t each : divisors(chips)) {
            if (!allowed(name, each)) continue;
            plan.*degree = each;
            split(axes - 1, chips / each, plan);
        }
    }

    [[nodiscard]] bool allowed(std::string_view axis, std::int64_t degree) const {
        const auto fixed = space_.fixed.find(axis);
        if (fixed != space_.fixed.end()) return degree == fixed->second;
        if (degree == 1) return true;
        if (axis == "expert" && space_.experts == 0) return false;
        if (axis == "sequence" && !space_.heads) return false;
        return std::find(space_.without.begin(), space_.without.end(), axis) == space_.without.end();
    }

    [[nodiscard]] bool divides(const Plan& plan) const {
        const std::int64_t members = plan.data * plan.fsdp * plan.expert;
        if (space_.sequences % members != 0 || space_.sequence % (plan.context * plan.sequence) != 0) return false;
        if (plan.pipeline > space_.layers) return false;
        if (plan.expert > 1 && space_.experts % plan.expert != 0) return false;
        return cut_heads(plan, space_.heads, space_.queries).has_value();
    }

    void complete(Plan plan) {
        if (!divides(plan)) {
            ++undivided_;
            return;
        }
        stages_of_zero(plan);
        const std::int64_t over_both = plan.expert * plan.tensor;
        if (space_.experts == 0 || plan.tensor == 1 || space_.experts % over_both != 0) return;
        plan.experts_over_tensor = true;
        stages_of_zero(plan);
    }

    void stages_of_zero(Plan plan) const {
        for (const int zero : space_.zero) {
            if (zero > 0 && plan.replicas() == 1) continue;
            plan.zero = zero;
            visit_(plan);
        }
    }

    const PlanSpace& space_;
    const std::function<void(const Plan&)>& visit_;
    std::int64_t undivided_ = 0;
};

// The chunks per stage of an interleaved schedule.
std::vector<std::int64_t> chunks_of(const PlanSpace& space, const Plan& plan) {
    if (space.chunks) return {*space.chunks};
    std::vector<std::int64_t> chunks;
    if (space.layers % plan.pipeline != 0) return chunks;
    for (const std::int64_t each : divisors(space.layers / plan.pipeline)) {
        if (each > 1) chunks.push_back(each);
    }
    return chunks;
}

}  // namespace

std::int64_t for_each_plan(const PlanSpace& space, const std::function<void(const Plan&)>& visit) {
    return Splits(space, visit).run();
}

std::vector<PlanChoice> choices_of(const PlanSpace& space, const Plan& plan) {
    const std::int64_t each = space.sequences / (plan.data * plan.fsdp * plan.expert);
    std::vector<Pipeline> schedules;
    for (const Schedule schedule : space.schedules) {
        if (plan.pipeline == 1) {
            schedules = {{}};
            break;
        }
        if (schedule == Schedule::interleaved) {
            for (const std::int64_t chunks : chunks_of(space, plan)) schedules.push_back({schedule, 1, 1, chunks, 0});
        } else {
            schedules.push_back({schedule, 1, 1, 1, 0});
        }
    }
    std::vector<PlanChoice> choices;
    for (const std::int64_t microbatches : divisors(each)) {
        if (space.microbatches && microbatches != *space.microbatches) continue;
        for (Pipeline& schedule : schedules) {
            schedule.stages = plan.pipeline;
            schedule.microbatches = microbatches;
            if (!pipeline_cost(schedule)) continue;
            for (const Remat remat : space.remat) choices.push_back({remat, microbatches, schedule});
        }
    }
    return choices;
}

}  // namespace roofline::core
