#include "predict/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "machine/machine.hpp"
#include "model/machine_dtype.hpp"
#include "network/slice_shapes.hpp"
#include "plan/excluded_plans.hpp"
#include "predict/plan/on_threads.hpp"
#include "predict/plan/plan_objective.hpp"
#include "predict/plan/weight_bytes.hpp"
#include "predict/train/framework.hpp"
#include "predict/train/planned_stage.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Sets of degrees. The layout of a plan with its own degrees may differ from that of the plan that its structure was
// compiled with, so more are priced again, alone, than are shown.
constexpr std::size_t least_kept = 12;

Result<TrainAnswer> laid_out(const PlanQuestion& question, const FoundPlan& found,
                             const std::shared_ptr<Calibrations>& calibrations) {
    TrainQuestion one = question.train;
    one.setup = found.setup;
    one.plan_given = true;
    return predict_training(std::move(one), calibrations);
}

// Returns the degrees of a plan; with its ZeRO stage and in another order it is the same set of degrees.
std::string set_of_degrees(Plan plan) {
    plan.zero = 0;
    plan.links.clear();
    return plan_text(plan);
}

// Each plan laid out by itself, those that fit.
Result<std::vector<TrainAnswer>> price_again(const PlanQuestion& question, const std::vector<FoundPlan>& found,
                                             const std::shared_ptr<Calibrations>& calibrations) {
    std::vector<Result<TrainAnswer>> each(found.size(), fail(Error{}));
    on_threads(
        found.size(), question.search.threads, calibrations,
        [&](std::size_t i, const std::shared_ptr<Calibrations>& own) { each[i] = laid_out(question, found[i], own); });
    std::vector<TrainAnswer> all;
    for (Result<TrainAnswer>& one : each) {
        ROOFLINE_TRY(auto answer, std::move(one));
        if (answer.step->memory.fits()) all.push_back(std::move(answer));
    }
    if (all.empty() && !found.empty()) {
        return fail("no_fit", "no plan fits once it is laid out alone", "use more chips");
    }
    return sorted_by(std::move(all), [](const TrainAnswer& answer) { return order_seconds(answer); });
}

class PlanAnswering {
public:
    PlanAnswering(const PlanQuestion& question, const std::shared_ptr<Calibrations>& calibrations)
        : question_(question), calibrations_(calibrations) {}

    Result<PlanAnswer> run(SearchedPlans searched) {
        const FoundPlans& found = searched.found;
        answer_.counts = found.counts;
        answer_.stopped = found.stopped;
        answer_.counted = found.counted;
        answer_.fits = !searched.alone.empty();
        if (!answer_.fits) {
            ROOFLINE_TRY(answer_.best, laid_out(question_, *found.nearest, calibrations_));
            return std::move(answer_);
        }
        answer_.best = searched.alone.front();
        const bool fastest = std::all_of(searched.alone.begin(), searched.alone.end(), [&](const TrainAnswer& each) {
            return order_seconds(each) >= order_seconds(answer_.best);
        });
        list_plans(searched.alone);
        if (fastest) {
            ROOFLINE_CHECK(find_larger(found.larger));
        }
        ROOFLINE_CHECK(find_changes(fastest));
        return std::move(answer_);
    }

private:
    void list_plans(const std::vector<TrainAnswer>& alone) {
        for (TrainAnswer& each : of_different_degrees(alone, question_.shown)) {
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

    // Beside the best plan, if it is the fastest, those of other degrees.
    Status find_changes(bool fastest) {
        std::vector<const TrainAnswer*> others;
        for (std::size_t i = 1; fastest && i < answer_.plans.size(); ++i) others.push_back(&answer_.plans[i].answer);
        std::vector<FasterPlan> faster;
        for (const LargerPlan& each : answer_.larger) faster.push_back({each.bytes, step_seconds(each.answer)});
        ROOFLINE_TRY(answer_.changes, plan_changes(question_.train, answer_.best, others, faster, calibrations_,
                                                   question_.search.threads));
        return {};
    }

    const PlanQuestion& question_;
    const std::shared_ptr<Calibrations>& calibrations_;
    PlanAnswer answer_;
};

// What holds weights that take so much on each chip of this slice. More is in memory than they.
std::string larger_slice(const Slice& slice, double bytes, Bytes capacity) {
    constexpr std::string_view fewer_bits = "keep moments in fewer bits (--optimizer adam,moments=bf16)";
    const double chips = std::ceil(bytes * static_cast<double>(slice.chips()) / capacity.value);
    const auto larger = next_slice(slice.machine, static_cast<std::int64_t>(chips));
    if (!larger) return std::string(fewer_bits);
    return fmt::format("they alone fit on {} chips ({}), and activations need more; or {}", grouped(larger->chips()),
                       larger->shape_text(), fewer_bits);
}

// Nothing fits, and no plan was near enough to be priced.
Error too_large(const PlanJob& job, const PlanCounts& counts, const std::string& refusal) {
    if (counts.looked_at == 0) {
        if (const auto excluding = excluding_options(job.space)) {
            return {"no_plan", excluding->message(), excluding->remedy(), {}};
        }
        return {"no_plan",
                fmt::format("no plan splits the work over {} chips: {} splits do not divide the model's heads, layers, "
                            "experts or the {} sequences of a batch",
                            job.space.chips, counts.divides, job.space.sequences),
                "use another batch or number of chips",
                {}};
    }
    if (counts.unsuited > 0 && counts.memory == 0) {
        return {"no_plan", fmt::format("no plan suits the slice: {}", refusal), "use another slice", {}};
    }
    const auto weights = weights_in_training(job.model, as_held(job.base).options);
    Plan all;
    all.fsdp = job.slice.chips();
    const MemoryLevel* hbm = job.slice.machine.level("hbm");
    const auto capacity = hbm != nullptr ? hbm->total_capacity() : std::nullopt;
    const double bytes = weights ? least_weight_bytes(*weights, all) : 0;
    const std::string where = all.fsdp == 1 ? "on a chip" : fmt::format("on each of {} chips", all.fsdp);
    return {"no_fit",
            fmt::format("nothing fits: weights, gradients and optimizer states alone take {} {} of {}",
                        to_text(Bytes{bytes}), where, capacity ? to_text(*capacity) : "an unknown memory"),
            capacity ? larger_slice(job.slice, bytes, *capacity) : std::string(),
            {}};
}

}  // namespace

double share_in_order(double factor) {
    // by the mean logarithm of the ratio of expected times in classes of it, from `roofline validate` on jobs with
    // three or more measured plans; a coin has a half
    static constexpr std::array<std::pair<double, double>, 7> measured{
        {{0, 0.5}, {0.01, 0.55}, {0.035, 0.73}, {0.075, 0.74}, {0.15, 0.85}, {0.3, 0.957}, {0.8, 0.996}}};
    return share_in_order(factor, measured);
}

Result<PlanQuestion> with_sizes(PlanQuestion question) {
    const TrainQuestion& train = question.train;
    const TrainingBatch& batch = train.setup.batch;
    PlanSpace& space = question.space;
    if (!train.batch_given) {
        return fail("no_batch", "the batch size is not given", "give its tokens: --batch-tokens 4Mi");
    }
    if (batch.tokens % batch.sequence != 0) {
        const std::int64_t down = batch.tokens / batch.sequence * batch.sequence;
        return fail("bad_batch",
                    fmt::format("{} tokens are no whole number of sequences of {}", batch.tokens, batch.sequence),
                    down == 0 ? fmt::format("use {} tokens, or shorter sequences", batch.sequence)
                              : fmt::format("use {} or {} tokens", down, down + batch.sequence));
    }
    if (const auto allowed = check_schedule(train.model, Schedule::zero_bubble); !allowed) {
        std::erase(space.schedules, Schedule::zero_bubble);
        if (space.schedules.empty()) return fail(allowed.error());
    }
    // A schedule that the user fixed stays.
    if (train.framework && !train.framework->habits.schedules.empty() && space.schedules.size() > 1) {
        const std::vector<Schedule>& its = train.framework->habits.schedules;
        std::erase_if(space.schedules,
                      [&](Schedule each) { return std::find(its.begin(), its.end(), each) == its.end(); });
    }
    space.chips = train.slice.chips();
    space.slice = std::make_shared<Slice>(train.slice);
    space.layers = train.model.layer_count;
    space.sequence = batch.sequence;
    space.sequences = batch.tokens / batch.sequence;
    space.heads = size_of_role(train.model.roles, train.model.program.sizes, "heads");
    space.queries = size_of_role(train.model.roles, train.model.program.sizes, "queries").value_or(1);
    space.experts = routed_experts(train.model.program).empty()
                        ? 0
                        : size_of_role(train.model.roles, train.model.program.sizes, "experts").value_or(0);
    return question;
}

namespace {

// Products in a dtype whose rate is that of the stored one gain nothing, and their kernels were not measured there.
Status check_products(const TrainQuestion& question) {
    const auto& products = question.setup.products;
    if (!products) return {};
    const Machine& machine = question.slice.machine;
    const auto units = assign(machine, Unit::matmul, *products);
    if (units && info(units->peak->dtype).bits < info(question.model.dtype).bits) return {};
    return fail("no_rate",
                fmt::format("{} has no matrix units for {}, so that products in it gain nothing", machine.name,
                            name(*products)),
                "leave --products out, or give another dtype");
}

// The job of a question that has its sizes.
Result<PlanJob> job_of(const PlanQuestion& question, const std::shared_ptr<Calibrations>& calibrations) {
    ROOFLINE_TRY(const auto step_model, built_in_step_model());
    const StepPricing pricing{calibrations, question.train.software, question.train.textbook, false, step_model};
    Model model = question.train.model;
    use_sixteen_bits_of(question.train.slice.machine, model);
    return PlanJob{std::move(model), question.train.slice, question.train.setup, question.space,
                   pricing,          plans_kept(question), question.keep,        question.limit_s};
}

}  // namespace

double order_seconds(const TrainAnswer& answer) {
    const StepTimes& times = answer.step->times;
    return order_seconds(times.expected, times.lower, times.upper);
}

std::vector<TrainAnswer> of_different_degrees(const std::vector<TrainAnswer>& plans, std::size_t most) {
    std::vector<TrainAnswer> different;
    std::set<std::string> degrees;
    for (const TrainAnswer& each : plans) {
        if (different.size() == most) break;
        if (degrees.insert(set_of_degrees(each.plan)).second) different.push_back(each);
    }
    return different;
}

std::size_t plans_kept(const PlanQuestion& question) { return std::max(question.shown, least_kept); }

Result<FoundPlans> find_plans(const PlanQuestion& question, const std::shared_ptr<Calibrations>& calibrations) {
    ROOFLINE_TRY(const auto sized, with_sizes(question));
    ROOFLINE_CHECK(check_products(sized.train));
    ROOFLINE_TRY(const auto job, job_of(sized, calibrations));
    return search_plans(job, sized.search);
}

Result<SearchedPlans> lay_out_plans(const PlanQuestion& question, FoundPlans found,
                                    const std::shared_ptr<Calibrations>& calibrations) {
    ROOFLINE_TRY(const auto sized, with_sizes(question));
    if (found.best.empty() && !found.nearest) {
        if (found.stopped) return fail("interrupted", "interrupted before a plan that fits was found", "");
        ROOFLINE_TRY(const auto job, job_of(sized, calibrations));
        return fail(too_large(job, found.counts, found.refused ? found.refused->why : std::string()));
    }
    SearchedPlans searched{std::move(found)};
    ROOFLINE_TRY(searched.alone, price_again(sized, searched.found.best, calibrations));
    return searched;
}

Result<PlanAnswer> answer_plans(const PlanQuestion& question, SearchedPlans searched,
                                const std::shared_ptr<Calibrations>& calibrations) {
    ROOFLINE_TRY(const auto sized, with_sizes(question));
    return PlanAnswering(sized, calibrations).run(std::move(searched));
}

Result<PlanAnswer> predict_plans(const PlanQuestion& question, const std::shared_ptr<Calibrations>& calibrations) {
    ROOFLINE_TRY(auto found, find_plans(question, calibrations));
    ROOFLINE_TRY(auto searched, lay_out_plans(question, std::move(found), calibrations));
    return answer_plans(question, std::move(searched), calibrations);
}

}  // namespace roofline::core
