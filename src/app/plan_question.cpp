#include "app/plan_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/model_option.hpp"
#include "app/plan_aims.hpp"
#include "app/system_option.hpp"
#include "app/train_options.hpp"
#include "app/train_question.hpp"
#include "model/routed_experts.hpp"
#include "predict/train/framework.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t default_shown = 8;
constexpr std::size_t most_shown = 64;

// `one`: there is no other slice, whose chips the fixed axes could divide.
Status fix_axes(const PlanRequest& request, std::int64_t chips, bool one, PlanSpace& space) {
    ROOFLINE_TRY(auto fixed, parse_fixed_axes(request.train.mesh));
    space.fixed = std::move(fixed.degrees);
    space.placed = std::move(fixed.links);
    ROOFLINE_TRY(space.without, parse_axes(request.without));
    std::int64_t product = 1;
    for (const auto& [axis, degree] : space.fixed) {
        if (degree > 1 && std::find(space.without.begin(), space.without.end(), axis) != space.without.end()) {
            return fail("bad_plan", fmt::format("the axis `{}` is fixed by --mesh and left out by --without", axis),
                        "remove one of the two");
        }
        const bool divides = !__builtin_mul_overflow(product, degree, &product) && chips % product == 0;
        if (one && !divides) {
            return fail("bad_plan", fmt::format("the axes of --mesh do not divide the {} chips of the slice", chips),
                        "fix fewer of them, or take a slice of another size");
        }
    }
    return {};
}

// A schedule is that of a pipeline.
Status check_pipeline(const PlanSpace& space) {
    const auto fixed = space.fixed.find("pipeline");
    const bool left_out = std::find(space.without.begin(), space.without.end(), "pipeline") != space.without.end();
    if (!left_out && (fixed == space.fixed.end() || fixed->second > 1)) return {};
    return fail("bad_request",
                fmt::format("--schedule is that of a pipeline, which {} leaves out",
                            left_out ? "--without" : "--mesh pipeline=1"),
                "remove one of the two");
}

Status fix_choices(const TrainRequest& request, PlanSpace& space, TrainQuestion& train) {
    const auto selective = train.framework ? selective_remat(train.framework->habits) : Remat::selective;
    std::replace(space.remat.begin(), space.remat.end(), Remat::selective, selective);
    if (!request.remat.empty()) space.remat = {train.setup.options.remat};
    if (!request.zero.empty()) {
        if (request.zero != "0" && request.zero != "1" && request.zero != "2") {
            return fail("bad_plan", fmt::format("--zero: a search has no stage `{}`", request.zero.substr(0, 40)),
                        "0, 1 or 2, or the whole plan with --mesh; stage 3 over data is the axis fsdp, which is "
                        "searched");
        }
        space.zero = {request.zero.front() - '0'};
    }
    ROOFLINE_TRY(space.microbatches, size_option(request.microbatches, "--microbatches", "for example 8"));
    if (request.schedule.empty()) return {};
    ROOFLINE_CHECK(check_pipeline(space));
    ROOFLINE_TRY(const auto schedule, parse_schedule(request.schedule));
    space.schedules = {schedule.schedule};
    if (schedule.schedule == Schedule::interleaved) space.chunks = schedule.chunks;
    return {};
}

// A plan with every axis that some plan of the search has.
Plan widest_plan(const PlanSpace& space, bool experts) {
    constexpr std::pair<const char*, std::int64_t Plan::*> axes[] = {
        {"data", &Plan::data},         {"fsdp", &Plan::fsdp},       {"tensor", &Plan::tensor},
        {"sequence", &Plan::sequence}, {"context", &Plan::context}, {"expert", &Plan::expert},
        {"pipeline", &Plan::pipeline}};
    Plan plan;
    for (const auto& [axis, degree] : axes) {
        const auto fixed = space.fixed.find(axis);
        const bool unused = std::find(space.without.begin(), space.without.end(), axis) != space.without.end() ||
                            (degree == &Plan::expert && !experts);
        plan.*degree = fixed != space.fixed.end() ? fixed->second : unused ? 1 : 2;
    }
    return plan;
}

Result<std::size_t> shown_plans(const std::string& word) {
    const std::string hint = fmt::format("give 1 to {}; without the option there are {}", most_shown, default_shown);
    ROOFLINE_TRY(const auto shown, size_option(word, "--plans", hint));
    if (!shown) return default_shown;
    if (*shown <= static_cast<std::int64_t>(most_shown)) return static_cast<std::size_t>(*shown);
    return fail("size", fmt::format("--plans {}: at most {} plans are shown", *shown, most_shown), hint);
}

// Who names a machine alone may not mean a single chip of it.
void note_one_chip(const MachineRef& machine, TrainQuestion& train) {
    const std::vector<NetworkTier>& network = train.slice.machine.network;
    if (names_slice(machine) || std::none_of(network.begin(), network.end(), joins_chips)) return;
    train.notes.push_back(
        fmt::format("--on {} has no size, so this is about one chip: add the slice, --on {}:8, or numbers of chips, "
                    "--chips 8 or --chips 8..64*2",
                    machine.name, machine.name));
}

// The question about the request's only slice, batch and length of sequences.
Result<PlanQuestion> plan_job(const PlanRequest& request, bool one) {
    PlanQuestion question;
    ROOFLINE_TRY(question.train, train_job(request.train));
    ROOFLINE_CHECK(fix_axes(request, question.train.slice.chips(), one, question.space));
    ROOFLINE_CHECK(fix_choices(request.train, question.space, question.train));
    if (!request.train.overlap.empty()) {
        const bool experts = !routed_experts(question.train.model.program).empty();
        ROOFLINE_TRY(question.train.setup.overlapped,
                     overlapped_axes(request.train.overlap, widest_plan(question.space, experts), experts));
    }
    question.search.threads = std::max<std::size_t>(1, request.train.search.threads);
    question.search.watch = request.train.search.watch;
    ROOFLINE_TRY(question.search.part, part_option(request.part));
    ROOFLINE_TRY(question.search.limit, size_option(request.limit, "--limit", "for example 1M"));
    ROOFLINE_TRY(question.shown, shown_plans(request.shown));
    return question;
}

// "bf16,fp8"; bf16 is the dtype in which tensors are stored.
Result<std::vector<std::string>> product_words(const std::string& words) {
    std::vector<std::string> all = at_commas(words);
    if (all.size() > 1 && std::find(all.begin(), all.end(), "") != all.end()) {
        return fail("bad_dtype", fmt::format("--products: a dtype is missing in `{}`", words.substr(0, 40)),
                    "for example bf16,fp8");
    }
    std::replace(all.begin(), all.end(), std::string("bf16"), std::string());
    return all;
}

// "adam,adam,moments=bf16": each begins with its name.
std::vector<std::string> optimizer_words(const std::string& words) {
    std::vector<std::string> all;
    for (const std::string& word : at_commas(words)) {
        if (all.empty() || word == "adam" || word == "sgd") {
            all.push_back(word);
        } else {
            all.back() += "," + word;
        }
    }
    return all;
}

// One request for each pair of a request and an item, those of the first request first.
template <class Item, class Set>
void multiply(std::vector<PlanRequest>& requests, const std::vector<Item>& items, const Set& set) {
    std::vector<PlanRequest> all;
    for (const PlanRequest& each : requests) {
        for (const Item& item : items) set(all.emplace_back(each).train, item);
    }
    requests = std::move(all);
}

}  // namespace

Result<std::vector<PlanRequest>> plan_jobs_of(const PlanRequest& request) {
    ROOFLINE_TRY(const auto slices, planned_slices(request));
    ROOFLINE_TRY(const auto batches, range_option(request.train.batch_tokens, "--batch-tokens"));
    ROOFLINE_TRY(const auto sequences, range_option(request.train.sequence, "--seq"));
    ROOFLINE_TRY(const auto products, product_words(request.train.products));
    const std::vector<std::string> optimizers = optimizer_words(request.train.optimizer);
    double jobs = 1;
    for (const std::size_t number :
         {slices.size(), batches.size(), sequences.size(), products.size(), optimizers.size()}) {
        jobs *= static_cast<double>(number);
    }
    if (jobs > static_cast<double>(most_plan_jobs)) {
        return fail("too_many_jobs",
                    fmt::format("slices, batches, lengths of sequences, dtypes and optimizers make {:.0f} jobs, and at "
                                "most {} are searched",
                                jobs, most_plan_jobs),
                    "give fewer, or larger increments: 1Mi..16Mi*2");
    }
    std::vector<PlanRequest> all{request};
    multiply(all, slices, [](TrainRequest& one, const MachineRef& slice) { one.machines = {slice}; });
    multiply(all, batches, [](TrainRequest& one, const auto& batch) { one.batch_tokens = fmt::format("{}", *batch); });
    multiply(all, sequences, [](TrainRequest& one, const auto& sequence) {
        if (sequence) one.sequence = fmt::format("{}", *sequence);
    });
    multiply(all, products, [](TrainRequest& one, const std::string& dtype) { one.products = dtype; });
    multiply(all, optimizers, [](TrainRequest& one, const std::string& optimizer) { one.optimizer = optimizer; });
    return all;
}

Result<PlanQuestion> plan_question_of_training(const TrainRequest& request) {
    PlanRequest plan;
    plan.train = request;
    return plan_job(plan, true);
}

Result<PlanJobsQuestion> plan_question(const PlanRequest& request) {
    PlanJobsQuestion question;
    if (request.train.batch_tokens.empty()) {
        return fail("no_batch", "the batch size is not given", "give its tokens: --batch-tokens 4Mi");
    }
    ROOFLINE_TRY(const auto aims, plan_aims(request));
    question.objective = aims.objective;
    question.front = aims.front;
    ROOFLINE_TRY(question.limits, plan_limits(request));
    ROOFLINE_TRY(const auto jobs, plan_jobs_of(request));
    if (jobs.size() > 1 && !request.limit.empty()) {
        return fail("bad_request", fmt::format("--limit is for one job, and there are {}", jobs.size()),
                    "leave it out, or give one slice, batch, sequence length, matmul dtype and optimizer");
    }
    for (const PlanRequest& one : jobs) {
        ROOFLINE_TRY(auto job, plan_job(one, jobs.size() == 1));
        note_one_chip(one.train.machines.front(), job.train);
        question.jobs.push_back(std::move(job));
    }
    return question;
}

Result<PlanPart> part_option(const std::string& word) {
    if (word.empty()) return PlanPart{};
    if (word == "leading") return PlanPart{0, 0, true};
    const std::size_t slash = word.find('/');
    const auto number = size_option(word.substr(0, slash), "--part");
    const auto of = size_option(slash == std::string::npos ? "" : word.substr(slash + 1), "--part");
    constexpr std::int64_t most = 1'000'000;
    if (!number || !of || !*number || !*of || **number > **of || **of > most) {
        return fail("bad_part", fmt::format("--part: `{}` is not a valid part", word.substr(0, 40)),
                    "the third of 64 parts is 3/64; the first is 1/64 and the last 64/64; the one that may be searched "
                    "before them is `leading`");
    }
    return PlanPart{**number, **of};
}

Result<PlanQuestion> part_question(const PlanRequest& request) {
    ROOFLINE_TRY(auto question, plan_question(request));
    const auto& [seconds, usd, watts, chips] = question.limits;
    const bool limited = seconds || usd || watts || (chips && *chips < question.jobs.front().train.slice.chips());
    const char* other = question.jobs.size() > 1 ? "has one slice, batch, sequence length, dtype and optimizer"
                        : question.front         ? "has no front"
                        : question.objective != PlanObjective::time ? "is for the least time"
                        : limited                                   ? "has no limits of time, cost, power or chips"
                                                                    : nullptr;
    if (other == nullptr) return std::move(question.jobs.front());
    return fail("bad_request", fmt::format("a search in parts (--part, or the ranks of mpirun) {}", other),
                "search the whole in one process, or leave the rest out");
}

Result<std::shared_ptr<Calibrations>> plan_calibrations(const PlanRequest& request) {
    ROOFLINE_CHECK(check_no_servers(request.train.calibration));
    CalibrationRef calibration = request.train.calibration;
    if (request.train.machines.size() > 1) {
        for (const MachineRef& machine : request.train.machines) calibration.beside.push_back(machine.name);
    }
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(calibration, request.train.machines));
    return std::make_shared<Calibrations>(std::move(calibrations));
}

Result<PlanJobsAnswer> plan_answer_of(const PlanRequest& request) {
    ROOFLINE_TRY(auto question, plan_question(request));
    ROOFLINE_TRY(const auto calibrations, plan_calibrations(request));
    return predict_plan_jobs(std::move(question), calibrations);
}

}  // namespace roofline::core
