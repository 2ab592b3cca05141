#include "predict/design/design.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

constexpr const char* costs = R"(
base = 100
[[term]]
figure = "hbm.bandwidth"
usd = 50
per = "1TB/s"
from = "1TB/s"
to = "10TB/s"
source = "test"
[[term]]
figure = "matmul.bf16"
source = "test"
point = [{at = "100TFLOP/s", usd = 10}, {at = "1PFLOP/s", usd = 300}, {at = "3PFLOP/s", usd = 2000}]
[[term]]
figure = "hbm.capacity"
usd = 15
per = "1GB"
from = "8GB"
to = "400GB"
source = "test"
)";

double number_in(const std::string& set) { return std::strtod(set.c_str() + set.find('=') + 1, nullptr); }

// 4e9 bytes and 6e11 FLOPs, which overlap in part, on a chip of more than 40 GB.
Result<SweptAnswer> toy(const std::vector<std::string>& sets) {
    SweptAnswer answer;
    if (sets.empty()) return answer;
    const double memory = 4e9 / number_in(sets[0]);
    const double math = 6e11 / number_in(sets[1]);
    answer.lower_s = std::max(memory, math) + 0.2 * std::min(memory, math);
    if (number_in(sets[2]) < 40e9) answer.note = "does not fit";
    return answer;
}

DesignQuestion question() {
    DesignQuestion asked;
    asked.base = *find_machine("h200-sxm");
    for (const char* text : {"hbm.bandwidth=1..8TB/s", "matmul.bf16=200..2000TFLOP/s", "hbm.capacity=16GB..256GB*2"}) {
        asked.axes.push_back(*parse_figure_range(asked.base, text, 9, 100));
    }
    auto cost = parse_cost_model(costs, "costs.toml", asked.base);
    REQUIRE_MESSAGE(cost, cost.error().message);
    asked.cost = std::move(*cost);
    asked.workloads = {{"toy", "a step", 1, 2e-3, {{"", toy}}}};
    return asked;
}

}  // namespace

TEST_CASE("the cheapest machine is that of a loop over all machines, and so is each of the front") {
    const DesignQuestion asked = question();
    const auto answer = predict_design(asked);
    REQUIRE(answer);
    const auto cheapest_within = [&](double limit) {
        double least = std::numeric_limits<double>::infinity();
        for (const double bandwidth : asked.axes[0].numbers) {
            for (const double rate : asked.axes[1].numbers) {
                for (const double capacity : asked.axes[2].numbers) {
                    const double a = 4e9 / bandwidth;
                    const double b = 6e11 / rate;
                    if (capacity < 40e9 || std::max(a, b) + 0.2 * std::min(a, b) > limit) continue;
                    const double of_rate =
                        rate < 1e15 ? 10 + 290 * (rate - 1e14) / 9e14 : 300 + 1700 * (rate - 1e15) / 2e15;
                    least = std::min(least, 100 + 50 * bandwidth / 1e12 + of_rate + 15 * capacity / 1e9);
                }
            }
        }
        return least;
    };
    CHECK(answer->best.usd == approx(cheapest_within(2e-3)).epsilon(1e-12));
    CHECK(answer->front.size() > 3);
    for (const DesignMachine& machine : answer->front) {
        CHECK(machine.usd == approx(cheapest_within(machine.weighted_s * (1 + 1e-12))).epsilon(1e-12));
    }
    CHECK(answer->notes.empty());
    CHECK(answer->predicted < 9 * 9 * 5);
}

TEST_CASE("a design that cannot be searched says why") {
    DesignQuestion asked = question();
    asked.axes[0] = *parse_figure_range(asked.base, "hbm.bandwidth=1..20TB/s", 4, 100);
    CHECK(predict_design(asked).error().message.find("from 1 TB/s to 10 TB/s") != std::string::npos);
    asked.axes[0] = *parse_figure_range(asked.base, "nvlink.bandwidth=100..200GB/s", 4, 100);
    CHECK(predict_design(asked).error().code == "no_cost");
    asked.axes[0] = *parse_figure_range(asked.base, "power=100..200W", 4, 100);
    CHECK(predict_design(asked).error().code == "bad_vary");
    asked.workloads.clear();
    CHECK(predict_design(asked).error().code == "no_workload");
}

TEST_CASE("a design is the same on any number of threads") {
    // A second workload, so that several predictions are made at once; the limits of both exclude machines.
    DesignQuestion asked = question();
    asked.workloads.push_back({"other", "a step", 3, 1.5e-3, {{"", [](const std::vector<std::string>& sets) {
                                                                   auto answer = toy(sets);
                                                                   if (!sets.empty())
                                                                       answer->lower_s = 2e9 / number_in(sets[0]) +
                                                                                         3e11 / number_in(sets[1]);
                                                                   return answer;
                                                               }}}});
    const auto one = predict_design(asked);
    REQUIRE(one);
    for (const std::size_t threads : {2U, 3U, 8U}) {
        asked.threads = threads;
        const auto many = predict_design(asked);
        REQUIRE(many);
        CHECK(many->best.at == one->best.at);
        CHECK(many->best.usd == one->best.usd);
        CHECK(many->predicted == one->predicted);
        REQUIRE(many->front.size() == one->front.size());
        for (std::size_t i = 0; i < one->front.size(); ++i) {
            CHECK(many->front[i].at == one->front[i].at);
            CHECK(many->front[i].weighted_s == one->front[i].weighted_s);
        }
    }
}

namespace {

// The toy on a chip that runs into its power limit where both figures are large, so that the machine with the best
// figures is the slowest: at 5 TB/s and more, 1 PFLOP/s and more it takes 20 ms longer.
Result<SweptAnswer> throttled(const std::vector<std::string>& sets) {
    auto answer = toy(sets);
    if (!sets.empty() && number_in(sets[0]) >= 5e12 && number_in(sets[1]) >= 1e15) answer->lower_s += 20e-3;
    return answer;
}

}  // namespace

TEST_CASE("where a time does not fall with a figure all machines are predicted, or the answer is not proven") {
    DesignQuestion asked = question();
    asked.workloads = {{"throttled", "a step", 1, 1.5e-3, {{"", throttled}}}};
    const auto brute = [&](double limit) {
        double least = std::numeric_limits<double>::infinity();
        for (const double bandwidth : asked.axes[0].numbers) {
            for (const double rate : asked.axes[1].numbers) {
                for (const double capacity : asked.axes[2].numbers) {
                    const double a = 4e9 / bandwidth;
                    const double b = 6e11 / rate;
                    const double slower = bandwidth >= 5e12 && rate >= 1e15 ? 20e-3 : 0;
                    if (capacity < 40e9 || std::max(a, b) + 0.2 * std::min(a, b) + slower > limit) continue;
                    const double of_rate =
                        rate < 1e15 ? 10 + 290 * (rate - 1e14) / 9e14 : 300 + 1700 * (rate - 1e15) / 2e15;
                    least = std::min(least, 100 + 50 * bandwidth / 1e12 + of_rate + 15 * capacity / 1e9);
                }
            }
        }
        return least;
    };
    for (const std::size_t threads : {1U, 2U}) {
        asked.threads = threads;
        for (const double target : {0.9e-3, 1.1e-3, 1.5e-3, 3e-3}) {
            CAPTURE(target);
            asked.workloads[0].target_s = target;
            const auto answer = predict_design(asked);
            REQUIRE(answer);
            CHECK(answer->proven);
            CHECK(answer->met == (brute(target) < 1e9));
            if (answer->met) CHECK(answer->best.usd == approx(brute(target)).epsilon(1e-12));
            REQUIRE(answer->notes.size() == 1);
            CHECK(answer->notes[0].find("does not fall") != std::string::npos);
        }
    }
    // 33 x 33 x 5 machines are more than are predicted one by one
    asked.axes[0] = *parse_figure_range(asked.base, "hbm.bandwidth=1..8TB/s", 33, 100);
    asked.axes[1] = *parse_figure_range(asked.base, "matmul.bf16=200..2000TFLOP/s", 33, 100);
    asked.workloads[0].target_s = 3e-3;
    const auto answer = predict_design(asked);
    REQUIRE(answer);
    CHECK_FALSE(answer->proven);
    CHECK(answer->unproven.find("throttled") != std::string::npos);
}

TEST_CASE("where nothing meets the targets the nearest machine is named, and what would meet each") {
    // The best of the space, 8 TB/s and 2 PFLOP/s, takes max(0.5, 0.3) + 0.2 * 0.3 = 0.56 ms.
    DesignQuestion asked = question();
    asked.workloads[0].target_s = 0.45e-3;
    const auto answer = predict_design(asked);
    REQUIRE(answer);
    CHECK_FALSE(answer->met);
    CHECK(answer->best.times[0].answer.seconds() == approx(0.56e-3));
    CHECK(answer->best.texts[2] == "64 GB");  // no more than the workload needs
    CHECK(answer->front.empty());
    REQUIRE(answer->shortfalls.size() == 1);
    const DesignShortfall& shortfall = answer->shortfalls[0];
    CHECK(shortfall.seconds == approx(0.56e-3));
    // By bandwidth alone: 4e9 / W + 0.06 ms = 0.45 ms at W = 10.256 TB/s, where memory still takes longer than math. By
    // the rate alone never: memory takes 0.5 ms.
    REQUIRE(shortfall.remedies.size() == 1);
    CHECK(shortfall.remedies[0].axis == 0);
    CHECK(shortfall.remedies[0].number == approx(4e9 / 0.39e-3).epsilon(2e-3));
    // A workload that fits nowhere: 40 GB are needed, and 32 are the most.
    asked = question();
    asked.axes[2] = *parse_figure_range(asked.base, "hbm.capacity=16GB..32GB*2", 4, 100);
    const auto none = predict_design(asked);
    REQUIRE(none);
    CHECK_FALSE(none->met);
    REQUIRE(none->shortfalls.size() == 1);
    REQUIRE(none->shortfalls[0].remedies.size() == 1);
    CHECK(none->shortfalls[0].remedies[0].axis == 2);
    CHECK(none->shortfalls[0].remedies[0].number == approx(40e9).epsilon(2e-3));
}
