#include "predict/design/design.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <string>

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
    CHECK(answer->best.usd == doctest::Approx(cheapest_within(2e-3)).epsilon(1e-12));
    CHECK(answer->front.size() > 3);
    for (const DesignMachine& machine : answer->front) {
        CHECK(machine.usd == doctest::Approx(cheapest_within(machine.weighted_s * (1 + 1e-12))).epsilon(1e-12));
    }
    CHECK(answer->notes.empty());
    CHECK(answer->predicted < 9 * 9 * 5);
}

TEST_CASE("a design that cannot be searched says why") {
    DesignQuestion asked = question();
    asked.workloads[0].target_s = 1e-6;
    CHECK(predict_design(asked).error().code == "no_fit");
    asked = question();
    asked.axes[0] = *parse_figure_range(asked.base, "hbm.bandwidth=1..20TB/s", 4, 100);
    CHECK(predict_design(asked).error().message.find("from 1 TB/s to 10 TB/s") != std::string::npos);
    asked.axes[0] = *parse_figure_range(asked.base, "nvlink.bandwidth=100..200GB/s", 4, 100);
    CHECK(predict_design(asked).error().code == "no_cost");
    asked.axes[0] = *parse_figure_range(asked.base, "power=100..200W", 4, 100);
    CHECK(predict_design(asked).error().code == "bad_vary");
    asked.workloads.clear();
    CHECK(predict_design(asked).error().code == "no_workload");
}
