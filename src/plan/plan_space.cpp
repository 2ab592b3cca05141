#include "plan/plan_space.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace roofline::core {

namespace {

std::vector<std::int64_t> divisors(std::int64_t number) {
    std::vector<std::int64_t> all{1};
    const auto add_factor = [&](std::int64_t prime) {
        const std::size_t before = all.size();
        std::size_t begin = 0;  // of those with one power less
        for (; number % prime == 0; number /= prime) {
            for (std::size_t i = 0; i < before; ++i) all.push_back(all[begin + i] * prime);
            begin = all.size() - before;
        }
    };
    for (std::int64_t prime = 2; prime <= number / prime; ++prime) add_factor(prime);
    if (number > 1) add_factor(number);
    std::sort(all.begin(), all.end());
    return all;
}

// The rarer an axis is used alone, the later it stands, so that simple plans come first.
constexpr std::array<std::pair<std::string_view, std::int64_t Plan::*>, 7> searched{{{"fsdp", &Plan::fsdp},
                                                                                     {"data", &Plan::data},
                                                                                     {"tensor", &Plan::tensor},
                                                                                     {"pipeline", &Plan::pipeline},
                                                                                     {"expert", &Plan::expert},
                                                                                     {"context", &Plan::context},
                                                                                     {"sequence", &Plan::sequence}}};

constexpr std::size_t over_tensor = searched.size();  // the place of `experts_over_tensor` among PlanAxes
static_assert(over_tensor + 1 == PlanAxes{}.size());

class Splits {
public:
    using Visit = std::function<bool(const Plan&)>;

    Splits(const PlanSpace& space, std::optional<PlanAxes> axes, std::int64_t most, const Visit& visit)
        : space_(space), axes_(axes), most_(most), visit_(visit) {}

    VisitedSplits run() {
        split(searched.size(), space_.chips, {});
        return visited_;
    }

private:
    // Splits chips over the first `axes` axes; the others are chosen.
    void split(std::size_t axes, std::int64_t chips, Plan plan) {
        if (axes == 0) {
            complete(plan);
            return;
        }
        const auto& [name, degree] = searched[axes - 1];
        for (const std::int64_t each : degrees(axes - 1, chips)) {
            if (!visited_.all) return;
            if (!allowed(name, each)) continue;
            plan.*degree = each;
            split(axes - 1, chips / each, plan);
        }
    }

    // Returns the degrees that an axis may have if so many chips are left for it and those before it.
    [[nodiscard]] std::vector<std::int64_t> degrees(std::size_t axis, std::int64_t chips) {
        bool last = true;  // it gets all that are left
        for (std::size_t before = 0; before < axis; ++before) last = last && axes_ && !axes_->test(before);
        if (axes_ && !axes_->test(axis)) return last && chips > 1 ? std::vector<std::int64_t>{} : std::vector{one};
        if (last) return axes_ && chips == 1 ? std::vector<std::int64_t>{} : std::vector{chips};
        const auto [known, fresh] = divisors_.try_emplace(chips);
        if (fresh) known->second = divisors(chips);
        const std::vector<std::int64_t>& all = known->second;
        return {all.begin() + (axes_ ? 1 : 0), all.end()};
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

    // Experts over `tensor` lie on chips of other axes, so they have no links of their own.
    [[nodiscard]] bool experts_are_placed() const {
        return std::any_of(space_.placed.begin(), space_.placed.end(),
                           [](const AxisLinks& each) { return each.axis == "expert"; });
    }

    void complete(Plan plan) {
        if (most_-- == 0) visited_.all = false;
        if (!visited_.all) return;
        const bool whole = !axes_ || !axes_->test(over_tensor);
        if (!divides(plan)) {
            if (whole) ++visited_.undivided;
            return;
        }
        if (whole) stages_of_zero(plan);
        if (axes_ && whole) return;
        const std::int64_t over_both = plan.expert * plan.tensor;
        if (space_.experts == 0 || plan.tensor == 1 || space_.experts % over_both != 0) return;
        if (experts_are_placed()) return;
        plan.experts_over_tensor = true;
        stages_of_zero(plan);
    }

    void stages_of_zero(Plan plan) {
        for (const int zero : space_.zero) {
            if (zero > 0 && plan.replicas() == 1) continue;
            plan.zero = zero;
            if (visited_.all) visited_.all = visit_(plan);
        }
    }

    static constexpr std::int64_t one = 1;
    const PlanSpace& space_;
    std::optional<PlanAxes> axes_;
    std::int64_t most_;
    const Visit& visit_;
    std::map<std::int64_t, std::vector<std::int64_t>> divisors_;
    VisitedSplits visited_;
};

// The chunks per stage of an interleaved schedule. If layers do not divide, those of the fullest stage count: of the
// others some chunks have a layer less.
std::vector<std::int64_t> chunks_of(const PlanSpace& space, const Plan& plan) {
    if (space.chunks) return {*space.chunks};
    std::vector<std::int64_t> chunks;
    for (const std::int64_t each : divisors((space.layers + plan.pipeline - 1) / plan.pipeline)) {
        if (each > 1) chunks.push_back(each);
    }
    return chunks;
}

}  // namespace

PlanAxes axes_of(const Plan& plan) {
    PlanAxes axes;
    for (std::size_t i = 0; i < searched.size(); ++i) axes.set(i, plan.*searched[i].second > 1);
    return axes.set(over_tensor, plan.experts_over_tensor);
}

VisitedSplits visit_plans(const PlanSpace& space, PlanAxes axes, const std::function<bool(const Plan&)>& visit,
                          std::int64_t most) {
    return Splits(space, axes, most, visit).run();
}

std::int64_t for_each_plan(const PlanSpace& space, const std::function<void(const Plan&)>& visit) {
    const Splits::Visit always = [&](const Plan& plan) {
        visit(plan);
        return true;
    };
    return Splits(space, std::nullopt, INT64_MAX, always).run().undivided;
}

std::vector<Pipeline> pipelines_of(const PlanSpace& space, const Plan& plan) {
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
    std::vector<Pipeline> pipelines;
    for (const std::int64_t microbatches : divisors(each)) {
        if (space.microbatches && microbatches != *space.microbatches) continue;
        for (Pipeline& schedule : schedules) {
            schedule.stages = plan.pipeline;
            schedule.microbatches = microbatches;
            if (pipeline_cost(schedule)) pipelines.push_back(schedule);
        }
    }
    return pipelines;
}

std::vector<PlanChoice> choices_of(const PlanSpace& space, const Plan& plan) {
    std::vector<PlanChoice> choices;
    for (const Pipeline& pipeline : pipelines_of(space, plan)) {
        for (const Remat remat : space.remat) choices.push_back({remat, pipeline.microbatches, pipeline});
    }
    return choices;
}

}  // namespace roofline::core
