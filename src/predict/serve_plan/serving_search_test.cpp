#include "predict/serve_plan/serving_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "model/presets.hpp"
#include "network/slice_shapes.hpp"
#include "predict/serve/instance_plans.hpp"
#include "predict/serve/serving_costs.hpp"

using namespace roofline::core;

namespace {

ServingSearch search_on(const char* model, const char* machine, std::int64_t chips) {
    ServingSearch search;
    auto config = preset_config(model);
    REQUIRE(config);
    search.job.config = *config;
    auto found = find_machine(machine);
    REQUIRE(found);
    auto slice = slice_of_chips(*found, chips);
    REQUIRE(slice);
    search.job.slice = *slice;
    search.job.prompt = 1000;
    search.job.output = 100;
    search.job.load.emplace().lengths = typical_lengths({1000, 100});
    search.apart = false;
    return search;
}

std::shared_ptr<Calibrations> built_in() { return std::make_shared<Calibrations>(Calibrations::built_in()); }

ServingSearchAnswer found(const ServingSearch& search) {
    auto answer = search_serving(search, built_in());
    REQUIRE_MESSAGE(answer, answer.error().message);
    return std::move(*answer);
}

// What `roofline serve` says about a server.
std::optional<ServeAnswer> served(const ServingSearch& search, std::int64_t chips, const Plan& plan,
                                  std::int64_t concurrency) {
    ServeQuestion question = search.job;
    auto slice = slice_of_chips(search.job.slice.machine, chips);
    REQUIRE(slice);
    question.slice = *slice;
    question.plan = plan;
    question.batch = concurrency;
    question.load->concurrency = concurrency;
    auto answer = predict_serving(question, built_in());
    if (!answer || !answer->load || !answer->fits) return std::nullopt;
    return std::move(*answer);
}

std::int64_t product(const Plan& plan) { return plan.data * plan.tensor * plan.expert * plan.pipeline; }

}  // namespace

TEST_CASE("the best set-up of a small space is the one that serving each of its set-ups finds") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 2);
    search.targets = {0.3, 0.012};
    search.statistic = TimeStatistic::p99;
    Plan tensor;
    tensor.tensor = 2;
    Plan stages;
    stages.pipeline = 2;
    double best = 0;
    for (const auto& [chips, plan] : {std::pair<std::int64_t, Plan>{1, {}}, {2, tensor}, {2, stages}}) {
        for (const std::int64_t concurrency : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}) {
            const auto answer = served(search, chips, plan, concurrency);
            if (!answer) continue;
            const ServingTimes& times = answer->load->times;
            if (times.ttft.p99 > 0.3 || times.tpot.p99 > 0.012) continue;
            best = std::max(best, times.tokens_per_s / static_cast<double>(chips));
        }
    }
    REQUIRE(best > 0);
    const ServingSearchAnswer answer = found(search);
    CHECK(answer.meets);
    CHECK(answer.best.rates.ttft.p99 <= 0.3);
    CHECK(answer.best.rates.tpot.p99 <= 0.012);
    // the search takes more requests than the steps of the loop where they still meet the targets
    CHECK(answer.best.tokens_per_s_per_chip() >= best * (1 - 1e-9));
    CHECK(answer.best.tokens_per_s_per_chip() < best * 1.5);
}

TEST_CASE("kinds of servers that are shown are at their best, also those that are far behind") {
    // On MI300X tensor parallelism is behind one chip. On H100 a pipeline is: its 22 requests are between two steps.
    const auto as_good = [](ServingSearch search, const Plan& plan, double ttft, double tpot,
                            const std::vector<std::int64_t>& numbers) {
        search.targets = {ttft, tpot};
        search.statistic = TimeStatistic::p99;
        search.elasticities = false;
        double best = 0;
        for (const std::int64_t concurrency : numbers) {
            const auto answer = served(search, 2, plan, concurrency);
            if (!answer) continue;
            const ServingTimes& times = answer->load->times;
            if (times.ttft.p99 > ttft || times.tpot.p99 > tpot) continue;
            best = std::max(best, times.tokens_per_s / 2);
        }
        REQUIRE(best > 0);
        bool shown = false;
        const ServingSearchAnswer answer = found(search);
        for (const ServingPlan& each : answer.plans) {
            if (each.set_up.plan.tensor != plan.tensor || each.set_up.plan.pipeline != plan.pipeline) continue;
            if (each.set_up.prefill) continue;
            shown = true;
            CHECK(each.tokens_per_s_per_chip() >= best * (1 - 1e-9));
        }
        CHECK(shown);
    };
    Plan tensor;
    tensor.tensor = 2;
    as_good(search_on("llama-3.1-8b", "mi300x", 2), tensor, 0.5, 0.03, {4, 16, 32, 64, 96, 128});
    Plan stages;
    stages.pipeline = 2;
    as_good(search_on("llama-3.1-8b", "h100-sxm5", 2), stages, 0.3, 0.02, {16, 18, 20, 21, 22, 23, 24, 32});
}

TEST_CASE("a search for servers says in which dtype models are computed on machines without bf16") {
    ServingSearch search = search_on("llama-3.2-1b", "v100-sxm2", 1);
    search.elasticities = false;
    CHECK(has(found(search).notes, "Tesla V100 SXM2 has no matrix units for bf16: the model is computed in f16"));
}

TEST_CASE("a search for servers reports its progress and can be stopped") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 2);
    search.elasticities = false;
    std::vector<SearchProgress> seen;
    search.watch = [&](const SearchProgress& at) {
        seen.push_back(at);
        return true;
    };
    const ServingSearchAnswer answer = found(search);
    REQUIRE(seen.size() > 3);  // one chip, two in tensor parallel and a pipeline of two are laid out
    for (std::size_t i = 0; i < seen.size(); ++i) {
        CHECK(seen[i].looked_at == static_cast<std::int64_t>(i) + 1);
        CHECK(seen[i].plans == 0);
    }
    CHECK_FALSE(seen.front().best);
    REQUIRE(seen.back().best);
    CHECK(*seen.back().best == doctest::Approx(1 / answer.best.tokens_per_s_per_chip()).epsilon(1e-12));
    search.watch = [](const SearchProgress& at) { return at.looked_at < 4; };
    const auto ended = search_serving(search, built_in());
    REQUIRE_FALSE(ended);
    CHECK(ended.error().code == "interrupted");
}

// What `roofline serve` says about two pools.
std::optional<ServeAnswer> served_apart(const ServingSearch& search, std::pair<std::int64_t, Plan> prefill,
                                        std::int64_t prefills, std::pair<std::int64_t, Plan> decode,
                                        std::int64_t decodes, std::int64_t batch) {
    ServeQuestion question = search.job;
    auto slice = slice_of_chips(search.job.slice.machine, decode.first);
    auto other = slice_of_chips(search.job.slice.machine, prefill.first);
    REQUIRE(slice);
    REQUIRE(other);
    question.slice = *slice;
    question.plan = decode.second;
    question.batch = batch;
    question.load->concurrency = batch * decodes;
    question.disaggregated = DisaggregatedQuestion{};
    question.disaggregated->prefill = *other;
    question.disaggregated->machine = search.job.machine;
    question.disaggregated->plan = prefill.second;
    question.disaggregated->prefill_slices = prefills;
    question.disaggregated->decode_slices = decodes;
    auto answer = predict_serving(question, built_in());
    if (!answer || !answer->load || !answer->fits) return std::nullopt;
    return std::move(*answer);
}

TEST_CASE("the best set-up and the frontier are those of all pools and servers" * doctest::test_suite("exhaustive")) {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 3);
    search.apart = true;
    search.targets = {0.5, 0.012};
    search.without = {"pipeline"};
    Plan tensor;
    tensor.tensor = 2;
    const std::vector<std::pair<std::int64_t, Plan>> servers{{1, {}}, {2, tensor}};
    struct Point {
        double user = 0;
        double chip = 0;
    };
    std::vector<Point> all;
    double best = 0;
    const auto add = [&](const std::optional<ServeAnswer>& answer, std::int64_t chips) {
        if (!answer) return;
        const ServingTimes& times = answer->load->times;
        const double rate = times.tokens_per_s / static_cast<double>(chips);
        all.push_back({1 / times.tpot.mean, rate});
        if (times.ttft.p99 <= 0.5 && times.tpot.p99 <= 0.012) best = std::max(best, rate);
    };
    for (const std::int64_t batch : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192}) {
        for (const auto& decode : servers) {
            add(served(search, decode.first, decode.second, batch), decode.first);
            for (const auto& prefill : servers) {
                for (const std::int64_t prefills : {1, 2}) {
                    for (const std::int64_t decodes : {1, 2}) {
                        const std::int64_t chips = prefills * prefill.first + decodes * decode.first;
                        if (chips > 3) continue;
                        add(served_apart(search, prefill, prefills, decode, decodes, batch), chips);
                    }
                }
            }
        }
    }
    REQUIRE(best > 0);
    const ServingSearchAnswer answer = found(search);
    // the search takes more requests than the steps of the loop where they still meet the targets
    CHECK(answer.best.tokens_per_s_per_chip() >= best * (1 - 1e-9));
    CHECK(answer.best.tokens_per_s_per_chip() < best * 1.15);
    // it simulates the best estimate of each range of users alone, so that a point may be between two of its own
    constexpr double range = 1.15;
    for (const Point& point : all) {
        CAPTURE(point.user);
        CAPTURE(point.chip);
        CHECK(std::any_of(answer.frontier.begin(), answer.frontier.end(), [&](const ServingPlan& each) {
            return each.rates.user_tokens_per_s() * range >= point.user &&
                   each.tokens_per_s_per_chip() * range >= point.chip;
        }));
    }
}

TEST_CASE("what a set-up does is found where its own times are the targets" * doctest::test_suite("exhaustive")) {
    ServingSearch search = search_on("gpt-oss-20b", "h200-sxm", 2);
    search.job.software = "sglang";  // its requests wait for many iterations
    search.statistic = TimeStatistic::mean;
    Plan tensor;
    tensor.tensor = 2;
    Plan experts = tensor;
    experts.experts_over_tensor = true;
    for (const auto& [chips, plan] : {std::pair<std::int64_t, Plan>{1, {}}, {2, tensor}, {2, experts}}) {
        for (const std::int64_t concurrency : {2, 16, 64}) {
            CAPTURE(mesh_option(plan));
            CAPTURE(concurrency);
            const auto answer = served(search, chips, plan, concurrency);
            REQUIRE(answer);
            const ServingTimes& times = answer->load->times;
            constexpr double rounded = 1 + 1e-9;
            search.targets = {times.ttft.mean * rounded, times.tpot.mean * rounded};
            const ServingSearchAnswer best = found(search);
            CHECK(best.meets);
            CHECK(best.best.tokens_per_s_per_chip() >= times.tokens_per_s / static_cast<double>(chips) * (1 - 1e-9));
        }
    }
}

TEST_CASE("the numbers of a set-up are those of serving it") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 2);
    search.targets.tpot_s = 0.02;
    const ServingSearchAnswer answer = found(search);
    REQUIRE(answer.frontier.size() > 2);
    std::vector<ServingPlan> all = answer.plans;
    all.push_back(answer.best);
    all.push_back(answer.frontier.front());
    all.push_back(answer.frontier.back());
    for (const ServingPlan& each : all) {
        const ServingSetUp& set_up = each.set_up;
        const auto alone = served(search, set_up.slice.chips(), set_up.plan, set_up.concurrency());
        REQUIRE(alone);
        CHECK(each.rates.tokens_per_s == alone->load->times.tokens_per_s);
        CHECK(each.rates.ttft == alone->load->times.ttft);
        CHECK(each.rates.tpot == alone->load->times.tpot);
    }
    CHECK(answer.served.load->times.tokens_per_s == answer.best.rates.tokens_per_s);
}

TEST_CASE("no set-up of a frontier beats another in both rates, and those of a loop are not above it") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 2);
    const ServingSearchAnswer answer = found(search);
    for (std::size_t i = 1; i < answer.frontier.size(); ++i) {
        CHECK(answer.frontier[i].rates.user_tokens_per_s() < answer.frontier[i - 1].rates.user_tokens_per_s());
        CHECK(answer.frontier[i].tokens_per_s_per_chip() > answer.frontier[i - 1].tokens_per_s_per_chip());
    }
    // each point of one chip is near or below a point of the frontier with as many tokens/s per user
    for (const std::int64_t concurrency : {4, 16, 64}) {
        const auto alone = served(search, 1, {}, concurrency);
        REQUIRE(alone);
        const ServingTimes& times = alone->load->times;
        constexpr double near = 1.2;
        CHECK(std::any_of(answer.frontier.begin(), answer.frontier.end(), [&](const ServingPlan& each) {
            return each.rates.user_tokens_per_s() * near >= 1 / times.tpot.mean &&
                   each.tokens_per_s_per_chip() * near >= times.tokens_per_s;
        }));
    }
}

TEST_CASE("every set-up of a search is accounted for") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 2);
    search.targets.tpot_s = 0.012;
    const ServingCounts counts = found(search).counts;
    CHECK(counts.searched > 20);
    CHECK(counts.priced + counts.divides + counts.target + counts.slower <= counts.searched);
    CHECK(counts.priced + counts.divides + counts.memory + counts.target + counts.slower + counts.failed >=
          counts.searched);
    CHECK(counts.target > 0);
}

TEST_CASE("targets that nothing meets have the nearest set-up, and do with what it reaches") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 2);
    search.targets.tpot_s = 1e-4;
    const ServingSearchAnswer nearest = found(search);
    CHECK_FALSE(nearest.meets);
    CHECK(nearest.plans.empty());
    search.targets.tpot_s = nearest.best.rates.tpot.p99;
    CHECK(found(search).meets);
    // a single request on two chips has the fastest tokens of the space
    Plan tensor;
    tensor.tensor = 2;
    const auto alone = served(search, 2, tensor, 1);
    REQUIRE(alone);
    CHECK(nearest.best.rates.tpot.p99 == approx(alone->load->times.tpot.p99));
}

TEST_CASE("the fewest chips that carry a rate carry it") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 8);
    search.objective = ServingObjective::chips;
    search.rate = 40;
    search.targets = {0.5, 0.03};
    const ServingSearchAnswer answer = found(search);
    REQUIRE(answer.meets);
    CHECK(answer.rate_of_each * static_cast<double>(answer.replicas) >= 40);
    CHECK(answer.best.rates.ttft.p99 <= 0.5);
    // one chip fewer would have to answer more than it takes in a closed loop
    ServeQuestion question = search.job;
    question.slice = answer.best.set_up.slice;
    question.plan = answer.best.set_up.plan;
    question.batch = answer.best.set_up.batch;
    question.load->rate = 40 / static_cast<double>(answer.replicas - 1);
    question.load->targets = search.targets;
    const auto fewer = predict_serving(question, built_in());
    CHECK((!fewer || fewer->load->times.ttft.p99 > 0.5 || fewer->load->times.tpot.p99 > 0.03));
    search.rate = 4000;
    const ServingSearchAnswer many = found(search);
    CHECK_FALSE(many.meets);
    CHECK(many.replicas * many.best.set_up.chips() > 8);
}

TEST_CASE("without calibration set-ups are compared without overlap, and pools are refused") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 2);
    auto none = std::make_shared<Calibrations>(std::vector<Calibration>{});
    const auto answer = search_serving(search, none);
    REQUIRE_MESSAGE(answer, answer.error().message);
    CHECK_FALSE(answer->expected);
    CHECK_FALSE(answer->notes.empty());
    search.together = false;
    search.apart = true;
    const auto refused = search_serving(search, none);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "not_calibrated");
}

TEST_CASE("what has no room, no price or no plan is refused") {
    const auto large = search_serving(search_on("llama-3.1-405b", "h100-sxm5", 2), built_in());
    REQUIRE_FALSE(large);
    CHECK(large.error().code == "no_fit");
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 2);
    search.objective = ServingObjective::cost;
    search.job.slice.machine.price.reset();
    const auto free = search_serving(search, built_in());
    REQUIRE_FALSE(free);
    CHECK(free.error().code == "no_price");
    search.objective = ServingObjective::throughput;
    search.fixed.degrees["tensor"] = 16;
    const auto none = search_serving(search, built_in());
    REQUIRE_FALSE(none);
    CHECK(none.error().code == "no_plan");
}

TEST_CASE("pools have a ratio of workers at which neither waits for long") {
    ServingSearch search = search_on("llama-3.1-8b", "h100-sxm5", 8);
    search.together = false;
    search.apart = true;
    search.targets = {2, 0.02};
    const ServingSearchAnswer answer = found(search);
    REQUIRE(answer.meets);
    REQUIRE(answer.best.set_up.prefill);
    CHECK(answer.best.set_up.chips() <= 8);
    const auto& rates = answer.served.prefill_pool->rates;
    REQUIRE(rates);
    // whole numbers of workers up to eight chips come within a factor of the ratio
    CHECK(rates->prompts / rates->decode > 0.5);
    CHECK(rates->prompts / rates->decode < 2.5);
}

TEST_CASE("servers have all plans of their chips, and those of replicas only where they are asked for") {
    auto machine = find_machine("h100-sxm5");
    REQUIRE(machine);
    auto slice = slice_of_chips(*machine, 4);
    REQUIRE(slice);
    const auto plans_of = [&](const char* model, bool replicas) {
        auto config = preset_config(model);
        REQUIRE(config);
        auto served = served_model(*config, true, {}, {}, Dtype::bf16);
        REQUIRE(served);
        std::set<std::string> texts;
        const InstancePlans found = instance_plans(*served, *slice, replicas);
        for (const Plan& plan : found.plans) {
            CHECK(product(plan) == 4);
            texts.insert(mesh_option(plan));
        }
        CHECK(texts.size() == found.plans.size());
        return texts.size();
    };
    // 4 = tensor * pipeline: 3 of them; with data 6 products of three factors
    CHECK(plans_of("llama-3.1-8b", false) == 3);
    CHECK(plans_of("llama-3.1-8b", true) == 6);
    // tensor=4: with and without experts over it; tensor=2, data=2: over all or over data; data=4: over all; with two
    // stages tensor=2: two, data=2: one; four stages: one
    CHECK(plans_of("mixtral-8x7b", false) == 9);
}
