#include "predict/plan/plan_jobs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/approx_test.hpp"
#include "model/models_test.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

constexpr double day = 86400;

const std::shared_ptr<Calibrations>& calibrations() {
    static const auto all = std::make_shared<Calibrations>(Calibrations::built_in());
    return all;
}

// FSDP and tensor parallelism of an 8B model on H100 with one micro-batch, without recomputation or with all of it.
PlanQuestion job_on(std::string_view shape, std::int64_t sequences, std::size_t threads = 1) {
    PlanQuestion job;
    job.train.model = model_named("llama-3.1-8b", 2048);
    job.train.slice = catalogue_slice("h100-sxm", shape);
    job.train.setup.batch = {sequences * 2048, 2048, 1};
    job.train.setup.options.master = false;
    job.train.tokens = 100'000'000'000;
    job.space.without = {"data", "context", "sequence", "pipeline"};
    job.space.remat = {Remat::none, Remat::full};
    job.space.microbatches = 1;
    job.search.threads = threads;
    return job;
}

// All plans of a job that fit, each laid out by itself: 1 x 8 to 8 x 1 on 8 chips, twice.
std::vector<TrainAnswer> all_plans(const PlanQuestion& job) {
    std::vector<TrainAnswer> plans;
    for (std::int64_t tensor = 1; tensor <= 8; tensor *= 2) {
        for (const Remat remat : {Remat::none, Remat::full}) {
            TrainQuestion one = job.train;
            one.setup.plan.tensor = tensor;
            one.setup.plan.fsdp = job.train.slice.chips() / tensor;
            one.setup.options.remat = remat;
            auto answer = predict_training(std::move(one), calibrations());
            if (answer && answer->step->memory.fits()) plans.push_back(std::move(*answer));
        }
    }
    return plans;
}

PlanJobsAnswer answered(PlanJobsQuestion question, const std::shared_ptr<Calibrations>& fitted = calibrations()) {
    auto answer = predict_plan_jobs(std::move(question), fitted);
    REQUIRE_MESSAGE(answer, to_text(answer.error()));
    return std::move(*answer);
}

Error refused(PlanJobsQuestion question) {
    const auto answer = predict_plan_jobs(std::move(question), calibrations());
    REQUIRE_FALSE(answer);
    return answer.error();
}

using Point = std::pair<double, double>;

}  // namespace

TEST_CASE("a front of two jobs has the plans that no other one of either beats, on any number of threads") {
    // by brute force: every plan against every other
    std::vector<Point> all;
    for (const char* shape : {"4", "8"}) {
        for (const TrainAnswer& plan : all_plans(job_on(shape, 16))) {
            all.emplace_back(plan.cost->seconds, plan.step->memory.total());
        }
    }
    REQUIRE(all.size() > 8);
    std::set<Point> expected;
    for (const Point& each : all) {
        const bool beaten = std::any_of(all.begin(), all.end(), [&](const Point& other) {
            return other != each && other.first <= each.first && other.second <= each.second;
        });
        if (!beaten) expected.insert(each);
    }
    CHECK(expected.size() > 2);
    CHECK(expected.size() < all.size());
    for (const std::size_t threads : {1UL, 3UL}) {
        const auto answer = answered({{job_on("4", 16, threads), job_on("8", 16, threads)},
                                      PlanObjective::time,
                                      {},
                                      std::pair(PlanObjective::time, PlanObjective::memory)});
        std::set<Point> found;
        for (const FrontPlan& each : answer.front) found.insert({each.values.seconds, each.values.bytes});
        CHECK(found == expected);
        CHECK(answer.chosen == 1);
        CHECK(answer.plan.best.cost->seconds == expected.begin()->first);
    }
}

TEST_CASE("the cheapest and the smallest plan are those of all plans, each laid out by itself") {
    double cheapest = 1e300;
    double smallest = 1e300;
    double fastest = 1e300;
    for (const char* shape : {"4", "8"}) {
        const PlanQuestion job = job_on(shape, 16);
        const double usd_per_s = job.train.slice.machine.price->value * static_cast<double>(job.train.slice.chips());
        for (const TrainAnswer& plan : all_plans(job)) {
            const double seconds = 1e11 / *plan.tokens_per_s;
            cheapest = std::min(cheapest, seconds * usd_per_s);
            smallest = std::min(smallest, plan.step->memory.total());
            fastest = std::min(fastest, seconds);
        }
    }
    const std::vector<PlanQuestion> jobs{job_on("4", 16), job_on("8", 16)};
    const auto cost = answered({jobs, PlanObjective::cost, {}, {}});
    CHECK(*cost.jobs[cost.chosen].values->usd == approx(cheapest));
    const auto memory = answered({jobs, PlanObjective::memory, {}, {}});
    CHECK(memory.jobs[memory.chosen].values->bytes == smallest);
    // the smallest is slow; within a deadline it is another one
    const auto& slow = *memory.jobs[memory.chosen].values;
    CHECK(slow.seconds > 1.05 * fastest);
    PlanLimits deadline;
    deadline.seconds = 1.05 * fastest;
    const auto in_time = answered({jobs, PlanObjective::memory, deadline, {}});
    const auto& values = *in_time.jobs[in_time.chosen].values;
    CHECK(values.seconds <= 1.05 * fastest);
    CHECK(values.bytes > slow.bytes);
    CHECK(in_time.counts.limit > 0);
    CHECK(in_time.counts.priced + in_time.counts.limit + in_time.counts.memory == in_time.counts.looked_at);
}

TEST_CASE("of each set of degrees the list of plans has the best one by the objective, also beside a front") {
    struct Least {
        double seconds = 1e300;
        double bytes = 1e300;
    };
    std::map<std::int64_t, Least> least;  // by the degree of tensor parallelism, by brute force
    const PlanQuestion job = job_on("8", 16);
    for (const TrainAnswer& plan : all_plans(job)) {
        Least& of_degree = least[plan.plan.tensor];
        of_degree.seconds = std::min(of_degree.seconds, plan.cost->seconds);
        of_degree.bytes = std::min(of_degree.bytes, plan.step->memory.total());
    }
    REQUIRE(least.size() == 4);
    const auto front = std::pair(PlanObjective::time, PlanObjective::memory);
    const auto by_memory = answered({{job}, PlanObjective::memory, {}, {}});
    const auto by_time = answered({{job}, PlanObjective::time, {}, front});
    REQUIRE(by_memory.plan.plans.size() == least.size());
    REQUIRE(by_time.plan.plans.size() == least.size());
    for (const PlanBeside& each : by_memory.plan.plans) {
        CHECK(each.answer.step->memory.total() == least.at(each.answer.plan.tensor).bytes);
    }
    for (const PlanBeside& each : by_time.plan.plans) {
        CHECK(each.answer.cost->seconds == least.at(each.answer.plan.tensor).seconds);
    }
}

// Without calibrations plans tie at their lower bound, and the order of them is that of what must overlap.
TEST_CASE("on an uncalibrated machine the best plan by time is on the front") {
    PlanQuestion job = job_on("8", 16);
    job.train.slice = catalogue_slice("tpu-v5p", "2x2x2");
    const auto answer =
        answered({{job}, PlanObjective::time, {}, std::pair(PlanObjective::time, PlanObjective::memory)},
                 std::make_shared<Calibrations>(std::vector<Calibration>{}));
    REQUIRE_FALSE(answer.plan.best.step->times.expected.has_value());
    const double best_bytes = answer.plan.best.step->memory.total();
    CHECK(std::any_of(answer.front.begin(), answer.front.end(), [&](const FrontPlan& each) {
        return each.answer.cost->seconds == answer.plan.best.cost->seconds && each.values.bytes == best_bytes;
    }));
}

TEST_CASE("a limit excludes a slice before its search, and others by their best plan") {
    PlanLimits limits;
    limits.chips = 8;
    const auto small = answered({{job_on("8", 16), job_on("8x2", 16)}, PlanObjective::time, limits, {}});
    CHECK(small.chosen == 0);
    CHECK(small.jobs[1].counts.looked_at == 0);
    REQUIRE(small.jobs[1].exceeded.size() == 1);
    CHECK(small.jobs[1].exceeded[0].factor() == 2);
    // 8 chips of 700 W are within 6 kW, 16 are not
    limits = {};
    limits.watts = 6000;
    CHECK(answered({{job_on("8x2", 16), job_on("8", 16)}, PlanObjective::time, limits, {}}).chosen == 1);
    limits.watts = 5000;
    CHECK(refused({{job_on("8x2", 16), job_on("8", 16)}, PlanObjective::time, limits, {}}).message.find("5.6 kW") !=
          std::string::npos);
}

TEST_CASE("if limits exclude everything, the nearest plan is named with the limits that would let it pass") {
    const std::vector<PlanQuestion> jobs{job_on("8", 16), job_on("8x2", 16)};
    const auto free = answered({jobs, PlanObjective::time, {}, {}});
    CHECK(free.within());
    PlanLimits limits;
    limits.seconds = free.jobs[1].values->seconds / 2;
    const auto beyond = answered({jobs, PlanObjective::cost, limits, {}});
    CHECK_FALSE(beyond.within());
    // 16 chips miss the deadline by a factor of 2, 8 chips by nearly 4
    CHECK(beyond.chosen == 1);
    CHECK(beyond.jobs[1].exceeded.at(0).factor() == approx(2));
    CHECK(beyond.jobs[0].exceeded.at(0).factor() > 3);
    CHECK(beyond.counts.priced == 0);
    CHECK(beyond.plan.best.cost->seconds == free.plan.best.cost->seconds);
    limits.seconds = beyond.jobs[1].exceeded[0].value;
    CHECK(answered({jobs, PlanObjective::cost, limits, {}}).within());
}

TEST_CASE("the deadline is one of calendar days where interruptions are known, and counts the same plans") {
    PlanQuestion job = job_on("8", 16);
    job.train.recovery = RecoveryQuestion{1e9, 1e-5, 600.0, true};
    const auto free = answered({{job}, PlanObjective::time, {}, {}});
    REQUIRE(free.plan.best.goodput);
    const double ideal = free.plan.best.cost->seconds;
    const double calendar = free.plan.best.goodput->seconds;
    CHECK(calendar > 1.01 * ideal);
    CHECK(free.jobs[0].values->seconds == calendar);
    PlanLimits limits;
    limits.seconds = calendar * 1.0001;
    const auto passes = answered({{job}, PlanObjective::time, limits, {}});
    CHECK(passes.within());
    CHECK(passes.counts.priced >= 1);
    limits.seconds = (ideal + calendar) / 2;  // enough without interruptions
    const auto fails = answered({{job}, PlanObjective::time, limits, {}});
    CHECK_FALSE(fails.within());
    CHECK(fails.counts.priced == 0);
}

TEST_CASE("for the fewest chips larger slices are not searched once one passes") {
    const auto answer = answered({{job_on("8x2", 16), job_on("8", 16), job_on("8", 32)}, PlanObjective::chips, {}, {}});
    CHECK(answer.chosen == 2);  // of two with 8 chips the faster run
    CHECK(answer.jobs[2].values->seconds < answer.jobs[1].values->seconds);
    REQUIRE(answer.jobs[0].refused);
    CHECK(answer.jobs[0].refused->message == "not searched: 8 chips suffice");
    CHECK(answer.basis == PlanBasis::run);
}

TEST_CASE("without the tokens of a run, batches are compared per token") {
    PlanQuestion small = job_on("8", 16);
    PlanQuestion large = job_on("8", 32);
    small.train.tokens.reset();
    large.train.tokens.reset();
    const auto answer = answered({{small, large}, PlanObjective::time, {}, {}});
    CHECK(answer.basis == PlanBasis::tokens);
    CHECK(answer.chosen == 1);
    const TrainAnswer& best = *answer.jobs[1].best;
    CHECK(answer.jobs[1].values->seconds == approx(*best.step_s * 1e6 / (32 * 2048)));
    CHECK(answered({{small}, PlanObjective::time, {}, {}}).basis == PlanBasis::step);
}

TEST_CASE("what cannot be compared or is too much is refused") {
    PlanLimits deadline;
    deadline.seconds = day;
    PlanQuestion job = job_on("8", 16);
    job.train.tokens.reset();
    CHECK(refused({{job}, PlanObjective::time, deadline, {}}).hint == "add them: --tokens 15T");
    job = job_on("8", 16);
    job.train.slice.machine.price.reset();
    CHECK(refused({{job}, PlanObjective::cost, {}, {}}).code == "no_price");
    job.train.slice.machine.power.value.reset();
    CHECK(refused({{job}, PlanObjective::time, {}, std::pair(PlanObjective::energy, PlanObjective::time)}).code ==
          "no_power");
    CHECK(refused({}).code == "no_machine");
    CHECK(refused({std::vector<PlanQuestion>(257, job), PlanObjective::time, {}, {}}).message.find("257") !=
          std::string::npos);
    // each space of four splits alone is small enough, the first 209 of them together are not
    job = job_on("8", 16);
    job.space.remat.assign(120'000, Remat::full);
    const Error many = refused({std::vector<PlanQuestion>(256, job), PlanObjective::time, {}, {}});
    CHECK(many.code == "too_many_plans");
    CHECK(many.message.starts_with("the first 209 of 256 jobs have " + std::to_string(209LL * 4 * 120'000)));
}

TEST_CASE("an interrupt ends the search of all jobs, whose plans are counted together") {
    std::vector<std::int64_t> seen;
    const auto watch = [&](const SearchProgress& at) {
        CHECK(at.plans == 3 * 8);  // four splits, each with two kinds of recomputation
        CHECK_FALSE(at.best);      // steps of different batches do not compare
        seen.push_back(at.looked_at);
        return at.looked_at < 11;
    };
    std::vector<PlanQuestion> jobs{job_on("8", 16), job_on("8", 32), job_on("8", 64)};
    for (PlanQuestion& job : jobs) job.search.watch = watch;
    const auto answer = answered({jobs, PlanObjective::time, {}, {}});
    CHECK(answer.stopped);
    CHECK(seen.back() == 11);
    CHECK(answer.counts.looked_at == answer.jobs[0].counts.looked_at + answer.jobs[1].counts.looked_at);
    CHECK(answer.jobs[0].counts.unsearched == 0);
    CHECK(answer.jobs[1].counts.unsearched == 5);
    REQUIRE(answer.jobs[2].refused);
    CHECK(answer.jobs[2].refused->message == "not searched: interrupted");
    REQUIRE(answer.notes.size() == 1);
    CHECK(answer.notes[0].starts_with("interrupted: 1 of 3 jobs"));
}

TEST_CASE("a job without a plan says why, and does not hide the others") {
    PlanQuestion uneven = job_on("8", 16);
    uneven.train.setup.batch.tokens += 1;
    const auto answer = answered({{uneven, job_on("8", 16)}, PlanObjective::time, {}, {}});
    CHECK(answer.chosen == 1);
    CHECK(answer.jobs[0].refused->code == "bad_batch");
    CHECK(refused({{uneven, uneven}, PlanObjective::time, {}, {}}).message.starts_with("h100-sxm5:8: "));
}
