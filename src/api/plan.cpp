#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/data.hpp"
#include "api/training_job.hpp"
#include "api/words.hpp"
#include "predict/plan/plan_jobs.hpp"
#include "predict/train/framework.hpp"
#include "report/plan/plan_report.hpp"

namespace roofline {

namespace {

core::PlanObjective core_objective(PlanObjective objective) {
    return core::plan_objectives[static_cast<std::size_t>(objective)].second;
}

// What is searched must not be fixed by the job, where it would be ignored.
Status check_job(const PlanSearch& search, std::size_t systems) {
    const TrainingOptions& job = search.job;
    const char* fixed = job.batch_tokens                           ? "batch_tokens"
                        : job.plan                                 ? "plan"
                        : job.schedule                             ? "schedule"
                        : job.microbatches != 1                    ? "microbatches"
                        : job.recomputation != Recomputation::none ? "recomputation"
                        : !job.overlapped.empty()                  ? "overlapped"
                        : job.assumed_mfu                          ? "assumed_mfu"
                                                                   : nullptr;
    if (fixed != nullptr) {
        return core::fail("bad_request", fmt::format("PlanSearch::job has `{}`, which is searched", fixed),
                          "leave it out, or set the member of PlanSearch that fixes it");
    }
    if (systems == 0)
        return core::fail("no_machine", "no system is given", "for example System::slice(machine, \"8x16\")");
    if (search.batch_tokens.empty()) {
        return core::fail("no_batch", "no batch size is given", "for example batch_tokens = {1 << 22}");
    }
    if (search.recomputation == Recomputation::named) {
        return core::fail("bad_request", "a search has no list of kept tensors", "choose another recomputation");
    }
    if (search.front && search.front->first == search.front->second) {
        return core::fail("bad_request", "the two objectives of the front are the same", "for example time and cost");
    }
    const PlanLimits& limits = search.limits;
    for (const auto limit : {limits.time ? limits.time->value : 1, limits.cost ? limits.cost->value : 1,
                             limits.power ? limits.power->value : 1, static_cast<double>(limits.chips.value_or(1))}) {
        if (!(limit > 0)) return core::fail("bad_limits", "a limit must be above 0", "leave it empty for none");
    }
    return {};
}

Status add_space(core::PlanQuestion& job, const PlanSearch& search) {
    core::PlanSpace& space = job.space;
    if (job.train.framework) {
        std::replace(space.remat.begin(), space.remat.end(), core::Remat::selective,
                     core::selective_remat(job.train.framework->habits));
    }
    for (const auto& [axis, degree] : search.fixed) {
        if (degree < 1) {
            return core::fail("bad_plan", fmt::format("fixed: the degree of `{}` is {}", axis_name(axis), degree),
                              "degrees are at least 1");
        }
        space.fixed[std::string(axis_name(axis))] = degree;
    }
    for (const PlanAxis axis : search.without) space.without.emplace_back(axis_name(axis));
    space.microbatches = search.microbatches;
    if (search.recomputation) space.remat = {core_remat(*search.recomputation)};
    if (!search.schedule) return {};
    const core::Pipeline schedule = core_schedule(*search.schedule);
    space.schedules = {schedule.schedule};
    if (schedule.schedule == core::Schedule::interleaved) space.chunks = schedule.chunks;
    return {};
}

// A system and what the plans of one of its jobs share.
struct Combination {
    std::size_t system = 0;
    TrainingOptions job;
};

// At most one more than are searched.
std::vector<Combination> combinations_of(std::size_t systems, const PlanSearch& search) {
    const auto dtypes = search.matmul_dtypes.empty() ? std::vector{search.job.matmul_dtype} : search.matmul_dtypes;
    const auto optimizers = search.optimizers.empty() ? std::vector{search.job.optimizer} : search.optimizers;
    std::vector<Combination> all;
    for (std::size_t system = 0; system < systems; ++system) {
        for (const std::int64_t tokens : search.batch_tokens) {
            for (const auto& dtype : dtypes) {
                for (const Optimizer& optimizer : optimizers) {
                    if (all.size() > core::most_plan_jobs) return all;
                    Combination& one = all.emplace_back(Combination{system, search.job});
                    one.job.batch_tokens = tokens;
                    one.job.matmul_dtype = dtype;
                    one.job.optimizer = optimizer;
                }
            }
        }
    }
    return all;
}

Result<core::PlanJobsQuestion> search_question(const Model& model, std::span<const System> systems,
                                               const PlanSearch& search) {
    ROOFLINE_CHECK(check_job(search, systems.size()));
    core::PlanJobsQuestion question;
    question.objective = core_objective(search.objective);
    if (search.front) question.front = {core_objective(search.front->first), core_objective(search.front->second)};
    if (search.limits.time) question.limits.seconds = search.limits.time->value;
    if (search.limits.cost) question.limits.usd = search.limits.cost->value;
    if (search.limits.power) question.limits.watts = search.limits.power->value;
    question.limits.chips = search.limits.chips;
    for (const Combination& each : combinations_of(systems.size(), search)) {
        core::PlanQuestion job;
        ROOFLINE_TRY(job.train, training_job(model, systems[each.system], each.job));
        job.train.plan_given = true;
        ROOFLINE_CHECK(add_space(job, search));
        job.search.threads = std::max<std::size_t>(1, search.threads);
        job.calibrations = calibrations_of(systems[each.system], search.job.calibrated);
        question.jobs.push_back(std::move(job));
    }
    return question;
}

TrainingPlan training_plan(const core::Plan& plan) {
    return {plan.data,    plan.fsdp,   plan.tensor,   plan.sequence,
            plan.context, plan.expert, plan.pipeline, plan.experts_over_tensor,
            plan.zero};
}

std::optional<PipelineSchedule> public_schedule(const std::string& text) {
    const auto parsed = core::parse_schedule(text);
    if (text.empty() || !parsed) return std::nullopt;
    using Kind = PipelineSchedule::Kind;
    switch (parsed->schedule) {
        case core::Schedule::gpipe:
            return PipelineSchedule{Kind::gpipe};
        case core::Schedule::one_f_one_b:
            return PipelineSchedule{Kind::one_f_one_b};
        case core::Schedule::interleaved:
            return PipelineSchedule{Kind::interleaved, parsed->chunks};
        case core::Schedule::zero_bubble:
            return PipelineSchedule{Kind::zero_bubble};
    }
    return std::nullopt;
}

FoundPlan public_found(const Combination& job, const core::TrainAnswer& answer, const core::PlanValues& values) {
    FoundPlan found;
    found.system = job.system;
    found.batch_tokens = answer.batch->tokens;
    found.matmul_dtype = job.job.matmul_dtype;
    found.optimizer = job.job.optimizer;
    found.plan = training_plan(answer.plan);
    found.microbatches = answer.batch->microbatches;
    found.schedule = public_schedule(answer.schedule);
    for (const Recomputation each :
         {Recomputation::none, Recomputation::selective, Recomputation::alternate, Recomputation::full}) {
        if (core_remat(each) == answer.options.remat) found.recomputation = each;
    }
    found.prediction = public_training(answer);
    found.time = Seconds{values.seconds};
    if (values.usd) found.cost = Usd{*values.usd};
    if (values.joules) found.energy = Joules{*values.joules};
    return found;
}

PlanSearchAnswer public_answer(core::PlanJobsAnswer answer, const std::vector<Combination>& jobs) {
    PlanSearchAnswer found;
    for (std::size_t job = 0; job < answer.jobs.size(); ++job) {
        const core::PlanJobAnswer& each = answer.jobs[job];
        if (!each.best) continue;
        if (job == answer.chosen) (each.within() ? found.best : found.nearest) = found.plans.size();
        found.plans.push_back(public_found(jobs[job], *each.best, *each.values));
    }
    for (const core::FrontPlan& each : answer.front) {
        found.front.push_back(public_found(jobs[each.job], each.answer, each.values));
    }
    const core::PlanCounts& counts = answer.counts;
    found.counts = {counts.looked_at, counts.priced, counts.divides, counts.memory, counts.bound, counts.limit};
    found.notes = core::in_library_terms(answer.notes);
    found.data = std::make_shared<const PlanSearchAnswer::Data>(PlanSearchAnswer::Data{std::move(answer)});
    return found;
}

Result<PlanSearchAnswer> searched(const Model& model, std::span<const System> systems, const PlanSearch& search) {
    ROOFLINE_TRY(auto question, search_question(model, systems, search));
    ROOFLINE_TRY(auto answer, core::predict_plan_jobs(std::move(question), nullptr));
    return public_answer(std::move(answer), combinations_of(systems.size(), search));
}

}  // namespace

Result<PlanSearchAnswer> search_plans(const Model& model, std::span<const System> systems, const PlanSearch& search) {
    return core::in_library_terms(searched(model, systems, search));
}

std::string PlanSearchAnswer::to_json() const { return data ? core::plan_json(data->answer, {}) : std::string(); }

}  // namespace roofline
