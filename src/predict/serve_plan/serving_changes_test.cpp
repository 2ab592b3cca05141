#include "predict/serve_plan/serving_changes.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "machine/machine.hpp"
#include "model/presets.hpp"
#include "network/slice_shapes.hpp"
#include "predict/serve/serving_costs.hpp"
#include "predict/serve_plan/serving_search.hpp"

using namespace roofline::core;

namespace {

ServingPlan plan_of(double tokens_per_s, double ttft_s, double tpot_s) {
    ServingPlan plan;
    plan.rates.tokens_per_s = tokens_per_s;
    plan.rates.ttft = {ttft_s, ttft_s, ttft_s, ttft_s};
    plan.rates.tpot = {tpot_s, tpot_s, tpot_s, tpot_s};
    return plan;
}

}  // namespace

TEST_CASE("the certainty of a set-up is a coin below five per cent, and the measured share at the mean of a class") {
    CHECK(share_of_set_ups_in_order(1) == 0.5);
    CHECK(share_of_set_ups_in_order(1.04) == 0.5);
    CHECK(share_of_set_ups_in_order(std::exp(0.301)) == approx(0.808));
    CHECK(share_of_set_ups_in_order(std::exp(-0.522)) == approx(0.944));
    CHECK(share_of_set_ups_in_order(100) < 1);
}

TEST_CASE("at the figure of a flip both set-ups are as good, and slopes are those of serving them") {
    ServingSearch search;
    auto config = preset_config("llama-3.1-8b");
    auto machine = find_machine("h100-sxm5");
    REQUIRE(config);
    REQUIRE(machine);
    auto slice = slice_of_chips(*machine, 2);
    REQUIRE(slice);
    search.job.config = *config;
    search.job.slice = *slice;
    search.job.prompt = 1000;
    search.job.output = 100;
    search.job.load.emplace().lengths = typical_lengths({1000, 100});
    search.apart = false;
    search.targets.tpot_s = 0.010;
    const auto calibrations = std::make_shared<Calibrations>(Calibrations::built_in());
    const auto answer = search_serving(search, calibrations);
    REQUIRE(answer);
    REQUIRE_FALSE(answer->changes.flips.empty());
    const auto rate_at = [&](ServingSetUp set_up, const std::string& path, double factor) {
        REQUIRE(set_figure(set_up.slice.machine, fmt::format("{}=*{}", path, factor)));
        const auto plan = priced_set_up(search.job, set_up, calibrations);
        REQUIRE(plan);
        return plan->tokens_per_s_per_chip();
    };
    for (const ServingFlip& flip : answer->changes.flips) {
        CAPTURE(flip.path);
        const ServingSetUp& best = answer->best.set_up;
        CHECK(rate_at(flip.other.set_up, flip.path, flip.factor) ==
              approx(rate_at(best, flip.path, flip.factor)).epsilon(2e-3));
        const double beyond = flip.factor > 1 ? flip.factor * 1.05 : flip.factor / 1.05;
        CHECK(rate_at(flip.other.set_up, flip.path, beyond) > rate_at(best, flip.path, beyond));
    }
    bool lengths = false;
    for (const Elasticity& each : answer->changes.elasticities) {
        lengths = lengths || each.path == "prompt";
        if (each.path == "prompt") CHECK(each.value < 0);
        if (each.path == "concurrency") CHECK(each.value > 0);
        if (each.path == "hbm.bandwidth") CHECK(each.value > 0);
    }
    CHECK(lengths);
}

TEST_CASE("better set-ups that miss targets are listed with the targets that they need, and none behind another") {
    ServingSearch search;
    search.targets = {1.0, 0.03};
    const ServingPlan best = plan_of(1000, 0.9, 0.02);
    const std::vector<ServingPlan> all{best,
                                       plan_of(1250, 1.5, 0.02),    // a fifth less per token
                                       plan_of(1100, 2.0, 0.02),    // behind the one before
                                       plan_of(2000, 0.5, 0.06),    // half
                                       plan_of(900, 1.1, 0.02),     // worse
                                       plan_of(1005, 1.05, 0.02)};  // by less than a per cent
    const auto better = better_beyond_targets(search, best, all);
    REQUIRE(better.size() == 2);
    CHECK(better[0].ttft_s == 1.5);
    CHECK_FALSE(better[0].tpot_s.has_value());
    CHECK(better[0].gain == approx(0.2));
    CHECK(better[1].tpot_s == 0.06);
    CHECK_FALSE(better[1].ttft_s.has_value());
    CHECK(better[1].gain == approx(0.5));
}
