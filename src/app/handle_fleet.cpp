// Answers `roofline plan fleet`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/load_options.hpp"
#include "app/plan_aims.hpp"
#include "app/plan_command.hpp"
#include "app/plan_question.hpp"
#include "app/request.hpp"
#include "app/serving_plan_question.hpp"
#include "app/system_option.hpp"
#include "predict/fleet/fleet.hpp"
#include "report/fleet/fleet_report.hpp"

namespace roofline::core {

namespace {

/// Of a training job without `chips`: the pool's chips and their halves down to this part of them.
constexpr std::int64_t smallest_part = 32;
/// A replica of a served model has at most so many chips.
constexpr std::int64_t largest_replica = 128;
/// Set-ups of which the largest rate is determined.
constexpr const char* compared_set_ups = "24";

std::vector<std::int64_t> powers_of_two(std::int64_t least, std::int64_t most) {
    std::vector<std::int64_t> powers;
    for (std::int64_t chips = 1; chips <= most; chips *= 2) {
        if (chips >= least) powers.push_back(chips);
    }
    return powers;
}

// Those that can be wired.
std::vector<MachineRef> wired(const MachineRef& machine, const std::vector<std::int64_t>& chips) {
    std::vector<MachineRef> slices;
    for (const std::int64_t number : chips) {
        auto slice = slices_of(machine, {number});
        if (slice) slices.push_back(std::move(slice->front()));
    }
    return slices;
}

FleetQuestionOnPool training_on(const FleetPoolRequest& pool, const FleetRequest& fleet, PlanRequest plan) {
    std::vector<std::int64_t> chips = powers_of_two(pool.chips / smallest_part, pool.chips);
    if (!plan.chips.empty()) {
        ROOFLINE_TRY(const auto numbers, range_option(plan.chips, "chips"));
        chips.clear();
        for (const auto& number : numbers) {
            if (*number <= pool.chips) chips.push_back(*number);
        }
        if (chips.empty()) {
            return fail("no_slice", fmt::format("the pool has {} chips, fewer than any of `chips`", pool.chips),
                        "add a smaller number to `chips`");
        }
        plan.chips.clear();
    }
    plan.train.machines = wired(pool.machine, chips);
    if (plan.train.machines.empty()) {
        return fail("no_slice", fmt::format("no slice of the {} chips can be wired", pool.chips), "");
    }
    plan.train.sets = pool.sets;
    plan.train.calibration = fleet.calibration;
    plan.train.search = fleet.search;
    ROOFLINE_TRY(auto question, plan_question(plan));
    return FleetTraining{std::move(question)};
}

FleetQuestionOnPool serving_on(const FleetPoolRequest& pool, const FleetRequest& fleet, ServePlanRequest plan) {
    // the most chips that can be wired
    std::vector<std::int64_t> most = powers_of_two(1, std::min(pool.chips, largest_replica));
    most.push_back(std::min(pool.chips, largest_replica));
    auto slices = wired(pool.machine, most);
    if (slices.empty()) return fail("no_slice", "no slice can be wired", "");
    plan.serve.machines = {std::move(slices.back())};
    plan.serve.sets = pool.sets;
    plan.serve.calibration = fleet.calibration;
    plan.search = fleet.search;
    plan.shown = compared_set_ups;
    ROOFLINE_TRY(auto search, serving_plan_question(plan));
    search.elasticities = false;
    return FleetServing{std::move(search)};
}

// The job on each pool. Errors: what is wrong with it on all of them.
template <class OnPool>
Result<FleetJobQuestion> on_pools(std::string name, double rate, const FleetRequest& fleet, const OnPool& on_pool) {
    FleetJobQuestion job{std::move(name), rate, {}};
    for (const FleetPoolRequest& pool : fleet.pools) job.on_pools.push_back(on_pool(pool));
    const bool none =
        std::none_of(job.on_pools.begin(), job.on_pools.end(), [](const auto& each) { return bool(each); });
    if (!none) return job;
    Error error = job.on_pools.front().error();
    error.message = fmt::format("{}: {}", job.name, error.message);
    return fail(std::move(error));
}

Result<FleetQuestion> fleet_question(const FleetRequest& request) {
    FleetQuestion question;
    question.period_s = request.period_s;
    for (const FleetPoolRequest& pool : request.pools) {
        question.pools.push_back({pool.name, pool.machine.name, pool.chips});
    }
    for (const FleetTrainingRequest& job : request.trained) {
        ROOFLINE_TRY(auto asked, on_pools(job.name, 0, request, [&](const FleetPoolRequest& pool) {
                         return training_on(pool, request, job.plan);
                     }));
        question.jobs.push_back(std::move(asked));
    }
    for (const FleetServingRequest& job : request.served) {
        ROOFLINE_TRY(const double rate, rate_option(job.plan.serve.rate));
        ROOFLINE_TRY(auto asked, on_pools(job.name, rate, request, [&](const FleetPoolRequest& pool) {
                         return serving_on(pool, request, job.plan);
                     }));
        question.jobs.push_back(std::move(asked));
    }
    return question;
}

// Adds the command of each job that is assigned.
Status add_commands(const FleetRequest& request, FleetAnswer& answer) {
    for (std::size_t i = 0; i < answer.jobs.size(); ++i) {
        FleetJobAnswer& job = answer.jobs[i];
        if (!job.chosen) continue;
        const FleetOffer& offer = job.taken();
        const FleetPoolRequest& pool = request.pools[offer.pool];
        if (offer.training) {
            ROOFLINE_TRY(auto slices, slices_of(pool.machine, {offer.chips / offer.replicas}));
            TrainRequest train = request.trained[i].plan.train;
            train.machines = std::move(slices);
            train.sets = pool.sets;
            train.calibration = request.calibration;
            job.command = plan_command(train, *offer.training);
        } else {
            ServePlanRequest plan = request.served[i - request.trained.size()].plan;
            plan.serve.machines = {pool.machine};
            plan.serve.sets = pool.sets;
            plan.serve.calibration = request.calibration;
            ServingSearchAnswer replica;
            replica.best.set_up = *offer.set_up;
            replica.rate_of_each = job.rate / static_cast<double>(offer.replicas);
            job.command = serve_command(with_best(plan, {}, replica));
        }
    }
    return {};
}

}  // namespace

Result<Response> handle(const FleetRequest& request, Format format) {
    ROOFLINE_TRY(MilpSolver* const solver, request.solver());
    std::vector<MachineRef> machines;
    for (const FleetPoolRequest& pool : request.pools) machines.push_back(pool.machine);
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.calibration, machines));
    ROOFLINE_TRY(auto question, fleet_question(request));
    ROOFLINE_TRY(auto answer,
                 predict_fleet(std::move(question), std::make_shared<Calibrations>(std::move(calibrations)), *solver));
    ROOFLINE_CHECK(add_commands(request, answer));
    Response response;
    response.exit_code = answer.usd ? 0 : 1;
    if (request.page) response.page = fleet_page(answer);
    response.out = format == Format::json       ? fleet_json(answer)
                   : format == Format::csv      ? table_csv(fleet_table(answer))
                   : format == Format::markdown ? table_markdown(fleet_table(answer))
                                                : fleet_text(answer);
    return response;
}

}  // namespace roofline::core
