#include "predict/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "machine/machine.hpp"
#include "predict/plan/weight_bytes.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// The layout of a plan with its own degrees may differ from that of the plan that its structure was compiled with, so
// the first plans are priced again, alone.
constexpr std::size_t least_kept = 12;  ///< sets of degrees
constexpr std::size_t priced_again = 6;
constexpr std::size_t priced_again_with_experts = 16;  // whose layouts differ more often

Result<TrainAnswer> laid_out(const PlanQuestion& question, const FoundPlan& found,
                             const std::shared_ptr<Calibrations>& calibrations) {
    TrainQuestion one = question.train;
    one.setup = found.setup;
    one.plan_given = true;
    return predict_training(std::move(one), calibrations);
}

// Returns the degrees of a plan; with its ZeRO stage it is the same set of degrees.
std::string set_of_degrees(Plan plan) {
    plan.zero = 0;
    return plan_text(plan);
}

// The fastest of each set of degrees, or the whole front.
Result<std::vector<TrainAnswer>> price_again(const PlanQuestion& question, const std::vector<FoundPlan>& found,
                                             const std::shared_ptr<Calibrations>& calibrations) {
    std::vector<TrainAnswer> all;
    std::set<std::string> shown;
    const bool front = question.keep == PlanKeep::front;
    const std::size_t again = question.space.experts > 0 ? priced_again_with_experts : priced_again;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const bool fresh = shown.size() < question.shown && shown.insert(set_of_degrees(found[i].setup.plan)).second;
        if (!front && !fresh && i >= again) continue;
        ROOFLINE_TRY(auto answer, laid_out(question, found[i], calibrations));
        if (answer.step->memory.fits()) all.push_back(std::move(answer));
    }
    if (all.empty() && !found.empty()) {
        return fail("no_fit", "no plan fits once it is laid out alone", "use more chips");
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const TrainAnswer& a, const TrainAnswer& b) { return step_seconds(a) < step_seconds(b); });
    return all;
}

class PlanAnswering {
public:
    PlanAnswering(const PlanQuestion& question, const std::shared_ptr<Calibrations>& calibrations)
        : question_(question), calibrations_(calibrations) {}

    Result<PlanAnswer> run(SearchedPlans searched) {
        const FoundPlans& found = searched.found;
        answer_.counts = found.counts;
        answer_.fits = !searched.alone.empty();
        if (!answer_.fits) {
            ROOFLINE_TRY(answer_.best, laid_out(question_, *found.nearest, calibrations_));
            return std::move(answer_);
        }
        answer_.best = searched.alone.front();
        const bool fastest = std::all_of(searched.alone.begin(), searched.alone.end(), [&](const TrainAnswer& each) {
            return step_seconds(each) >= step_seconds(answer_.best);
        });
        list_plans(std::move(searched.alone));
        if (fastest) {
            ROOFLINE_CHECK(find_larger(found.larger));
        }
        ROOFLINE_CHECK(find_elasticities());
        return std::move(answer_);
    }

private:
    void list_plans(std::vector<TrainAnswer> alone) {
        std::set<std::string> shown;
        for (TrainAnswer& each : alone) {
            if (answer_.plans.size() == question_.shown) break;
            if (!shown.insert(set_of_degrees(each.plan)).second) continue;
            PlanBeside beside{std::move(each)};
            const double factor = step_seconds(beside.answer) / step_seconds(answer_.best);
            if (answer_.best.step->times.expected && !answer_.plans.empty() && factor >= 1) {
                beside.sure = share_in_order(factor);
            }
            answer_.plans.push_back(std::move(beside));
        }
    }

    // Of the plans that are faster but do not fit those that no other one beats in both time and memory.
    Status find_larger(const std::vector<FoundPlan>& found) {
        std::vector<FoundPlan> by_memory = found;
        std::sort(by_memory.begin(), by_memory.end(), [](const FoundPlan& a, const FoundPlan& b) {
            return std::pair(a.memory, a.order) < std::pair(b.memory, b.order);
        });
        constexpr std::size_t most = 3;
        double best_s = step_seconds(answer_.best);
        const double now_s = best_s;
        for (const FoundPlan& each : by_memory) {
            if (answer_.larger.size() == most) break;
            if (each.seconds >= 0.99 * best_s) continue;
            ROOFLINE_TRY(auto answer, laid_out(question_, each, calibrations_));
            const TrainingMemory& memory = answer.step->memory;
            const double seconds = step_seconds(answer);
            if (memory.fits() || seconds >= 0.99 * best_s) continue;
            best_s = seconds;
            const double lacks = memory.total() - *memory.capacity;
            answer_.larger.push_back({std::move(answer), lacks, 1 - seconds / now_s});
        }
        return {};
    }

    Status find_elasticities() {
        constexpr double factor = 1.05;
        const Machine& machine = question_.train.slice.machine;
        const Dtype dtype = answer_.best.products.value_or(answer_.best.model.dtype);
        std::vector<std::string> paths{fmt::format("matmul.{}", name(dtype)), "hbm.bandwidth"};
        for (const SliceTier& tier : question_.train.slice.tiers) {
            const NetworkTier& network = question_.train.slice.network(tier);
            paths.push_back(network.id + ".bandwidth");
            paths.push_back(network.id + ".latency");
        }
        FoundPlan best;
        best.setup = question_.train.setup;
        best.setup.plan = answer_.best.plan;
        best.setup.options = answer_.best.options;
        best.setup.batch = *answer_.best.batch;
        if (!answer_.best.schedule.empty()) {
            ROOFLINE_TRY(best.setup.schedule, parse_schedule(answer_.best.schedule));
        }
        for (const std::string& path : paths) {
            TrainQuestion changed = question_.train;
            changed.setup = best.setup;
            Machine other = machine;
            if (!set_figure(other, fmt::format("{}=*{}", path, factor))) continue;  // it has no such figure
            changed.slice.machine = std::move(other);
            ROOFLINE_TRY(const auto answer, predict_training(std::move(changed), calibrations_));
            const double value = std::log(step_seconds(answer) / step_seconds(answer_.best)) / std::log(factor);
            answer_.elasticities.push_back({path, std::abs(value) < 5e-4 ? 0 : value});
        }
        std::sort(answer_.elasticities.begin(), answer_.elasticities.end(), [](const auto& a, const auto& b) {
            return std::pair(-std::abs(a.value), a.path) < std::pair(-std::abs(b.value), b.path);
        });
        return {};
    }

    const PlanQuestion& question_;
    const std::shared_ptr<Calibrations>& calibrations_;
    PlanAnswer answer_;
};

// Nothing fits, and no plan was near enough to be priced.
Error too_large(const PlanJob& job, const PlanCounts& counts, const std::string& refusal) {
    if (counts.looked_at == counts.divides) {
        return {"no_plan",
                fmt::format("no plan splits the work over {} chips: {} splits do not divide the model's heads, layers, "
                            "experts or the {} sequences of a batch",
                            job.space.chips, counts.divides, job.space.sequences),
                "use another batch or number of chips, or free an axis that is fixed or left out",
                {}};
    }
    if (counts.unsuited > 0 && counts.memory == 0) {
        return {"no_plan", fmt::format("no plan suits the slice: {}", refusal), "use another slice", {}};
    }
    const auto weights = weights_in_training(job.model, job.base.options);
    Plan all;
    all.fsdp = job.slice.chips();
    const MemoryLevel* hbm = job.slice.machine.level("hbm");
    const auto capacity = hbm != nullptr ? hbm->total_capacity() : std::nullopt;
    const double bytes = weights ? least_weight_bytes(*weights, all) : 0;
    return {
        "no_fit",
        fmt::format("nothing fits: weights, gradients and optimizer states alone take {} on each of {} chips of "
                    "{}",
                    to_text(Bytes{bytes}), all.fsdp, capacity ? to_text(*capacity) : "an unknown memory"),
        capacity
            ? fmt::format("at least {} chips hold them; or keep moments in fewer bits",
                          static_cast<std::int64_t>(std::ceil(bytes * static_cast<double>(all.fsdp) / capacity->value)))
            : std::string(),
        {}};
}

}  // namespace

double share_in_order(double factor) {
    // by the mean logarithm of the ratio of expected times in classes of it, from `roofline validate` on jobs with
    // three or more measured plans; a coin has a half
    static constexpr std::array<std::pair<double, double>, 7> measured{
        {{0, 0.5}, {0.01, 0.58}, {0.035, 0.69}, {0.075, 0.77}, {0.15, 0.86}, {0.3, 0.956}, {0.8, 0.996}}};
    const double ratio = std::abs(std::log(factor));
    for (std::size_t i = 1; i < measured.size(); ++i) {
        const auto& [from, low] = measured[i - 1];
        const auto& [to, high] = measured[i];
        if (ratio < to) return low + (high - low) * (ratio - from) / (to - from);
    }
    return measured.back().second;
}

Status complete_space(PlanQuestion& asked) {
    PlanSpace& space = asked.space;
    const TrainQuestion& question = asked.train;
    const TrainingBatch& batch = question.setup.batch;
    if (!question.batch_given) {
        return fail("no_batch", "the batch size is not given", "give its tokens: --batch-tokens 4Mi");
    }
    if (batch.tokens % batch.sequence != 0) {
        const std::int64_t down = batch.tokens / batch.sequence * batch.sequence;
        return fail("bad_batch",
                    fmt::format("{} tokens are no whole number of sequences of {}", batch.tokens, batch.sequence),
                    fmt::format("use {} or {} tokens", down, down + batch.sequence));
    }
    space.chips = question.slice.chips();
    space.layers = question.model.layer_count;
    space.sequence = batch.sequence;
    space.sequences = batch.tokens / batch.sequence;
    space.heads = size_of_role(question.model.roles, question.model.program.sizes, "heads");
    space.queries = size_of_role(question.model.roles, question.model.program.sizes, "queries").value_or(1);
    space.experts = routed_experts(question.model.program).empty()
                        ? 0
                        : size_of_role(question.model.roles, question.model.program.sizes, "experts").value_or(0);
    return {};
}

double step_seconds(const TrainAnswer& answer) {
    return answer.step->times.expected.value_or(answer.step->times.lower);
}

Result<SearchedPlans> find_plans(PlanQuestion& question, const std::shared_ptr<Calibrations>& calibrations) {
    ROOFLINE_CHECK(complete_space(question));
    ROOFLINE_TRY(const auto step_model, built_in_step_model());
    const StepPricing pricing{calibrations, question.train.software, question.train.textbook, false, step_model};
    const PlanJob job{question.train.model,
                      question.train.slice,
                      question.train.setup,
                      question.space,
                      pricing,
                      std::max(question.shown, least_kept),
                      question.keep,
                      question.limit_s};
    SearchedPlans searched;
    ROOFLINE_TRY(searched.found, search_plans(job, question.threads));
    const FoundPlans& found = searched.found;
    if (found.best.empty() && !found.nearest) return fail(too_large(job, found.counts, found.refusal));
    ROOFLINE_TRY(searched.alone, price_again(question, found.best, calibrations));
    return searched;
}

Result<PlanAnswer> answer_plans(const PlanQuestion& question, SearchedPlans searched,
                                const std::shared_ptr<Calibrations>& calibrations) {
    return PlanAnswering(question, calibrations).run(std::move(searched));
}

Result<PlanAnswer> predict_plans(PlanQuestion question, const std::shared_ptr<Calibrations>& calibrations) {
    ROOFLINE_TRY(auto searched, find_plans(question, calibrations));
    return answer_plans(question, std::move(searched), calibrations);
}

}  // namespace roofline::core
