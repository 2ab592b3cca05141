#include "predict/plan/plan_pricer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/approx_test.hpp"
#include "model/lora.hpp"
#include "model/models_test.hpp"
#include "network/slices_test.hpp"
#include "plan/random_numbers.hpp"
#include "predict/train/framework.hpp"

using namespace roofline::core;

namespace {

std::int64_t one_of(RandomNumbers& random, const std::vector<std::int64_t>& values) {
    return values[static_cast<std::size_t>(random.uniform() * static_cast<double>(values.size()))];
}

// Splits chips at random over the axes.
Plan random_plan(RandomNumbers& random, std::int64_t chips, bool experts) {
    Plan plan;
    std::vector<std::int64_t Plan::*> axes{&Plan::data,     &Plan::fsdp,    &Plan::tensor,
                                           &Plan::sequence, &Plan::context, &Plan::pipeline};
    if (experts) axes.push_back(&Plan::expert);
    for (; chips > 1; chips /= 2) {
        plan.*axes[static_cast<std::size_t>(random.uniform() * static_cast<double>(axes.size()))] *= 2;
    }
    plan.zero = plan.replicas() > 1 ? static_cast<int>(one_of(random, {0, 1, 2})) : 0;
    return plan;
}

TrainSetup random_setup(RandomNumbers& random, std::int64_t chips, bool experts, std::int64_t sequence) {
    TrainSetup setup;
    setup.plan = random_plan(random, chips, experts);
    setup.batch = {64 * sequence, sequence, one_of(random, {1, 2, 4, 8})};
    setup.options.remat = static_cast<Remat>(one_of(random, {0, 1, 3}));
    return setup;
}

struct Differences {
    int compared = 0;
    int equal = 0;  ///< to 0.1 %
    double largest = 0;
    double mean = 0;
};

Differences differences(std::string_view model_name, const Slice& slice, int plans, const char* framework = nullptr,
                        bool lora = false, Calibrations calibrations = Calibrations::built_in()) {
    const std::int64_t sequence = 4096;
    Model model = model_named(model_name, sequence);
    if (lora) {
        auto adapted = with_lora(std::move(model), {16, {"q+k+v", "o"}, Dtype::fp8});
        REQUIRE(adapted);
        model = std::move(*adapted);
    }
    const StepPricing pricing{std::make_shared<Calibrations>(std::move(calibrations)), "", false, false,
                              *built_in_step_model()};
    PlanPricer pricer(model, slice, pricing);
    RandomNumbers random(11);
    Differences result;
    for (int i = 0; i < plans; ++i) {
        TrainSetup setup =
            random_setup(random, slice.chips(),
                         model.program.expert_groups.of > 0 && !routed_experts(model.program).empty(), sequence);
        if (framework != nullptr) apply_habits(framework_named(framework)->habits, setup);
        const BatchShards shards{setup.plan.data * setup.plan.fsdp * setup.plan.expert,
                                 setup.plan.sequence * setup.plan.context};
        if (!check_batch(setup.batch, shards) || setup.plan.pipeline > model.layer_count) continue;
        std::vector<std::string> notes;
        const auto step = train_step(model, setup, slice, pricing, notes);
        const auto priced = pricer.price(setup);
        REQUIRE(step.has_value() == priced.has_value());
        if (!step) continue;
        CAPTURE(plan_text(setup.plan));
        CAPTURE(setup.batch.microbatches);
        CHECK(priced->memory.total() == approx(step->memory.total()).epsilon(0.01));
        if (!priced->memory.fits()) continue;
        REQUIRE(priced->expected_s.has_value() == step->times.expected.has_value());
        const double exact = step->times.expected.value_or(step->times.lower);
        const double off = std::abs(priced->seconds() / exact - 1);
        ++result.compared;
        if (off < 1e-3) ++result.equal;
        result.largest = std::max(result.largest, off);
        result.mean += off;
    }
    result.mean /= std::max(result.compared, 1);
    MESSAGE(model_name << ": " << result.equal << " of " << result.compared << " equal, mean " << result.mean
                       << ", largest " << result.largest << ", " << pricer.compiled() << " compiled");
    return result;
}

}  // namespace

// A structure is laid out with the degrees of the plan that comes first. With its own degrees and micro-batches a plan
// may have another layout, which is why these are not all equal: rarely for dense models, in every second plan with
// experts, whose rows have several ways to go. The first plans of a search are therefore priced again, alone.
TEST_CASE("plans priced together have nearly the times and the memory that each has alone" *
          doctest::test_suite("exhaustive")) {
    // neither its collectives nor its steps were timed, so both prices are lower bounds
    CHECK(differences("llama-3.1-8b", catalogue_slice("gaudi2", "8x2"), 8).compared > 5);
    const Differences dense = differences("llama-3.1-8b", catalogue_slice("h100-sxm", "8x2"), 8);
    CHECK(dense.compared > 5);
    CHECK(dense.equal > 0.8 * dense.compared);
    CHECK(dense.largest < 0.03);
    const Differences titan = differences("llama-3.1-8b", catalogue_slice("h100-sxm", "8x2"), 8, "torchtitan-2025");
    CHECK(titan.compared > 5);
    CHECK(titan.equal > 0.8 * titan.compared);
    const Differences megatron = differences("llama-3.1-8b", catalogue_slice("h100-sxm", "8x2"), 8, "megatron-lm");
    CHECK(megatron.compared > 4);
    const Differences experts = differences("mixtral-8x7b", catalogue_slice("h100-sxm", "8x4"), 8);
    CHECK(experts.compared > 1);
    CHECK(experts.mean < 0.06);
    const Differences torus = differences("llama-3.1-8b", catalogue_slice("tpu-v5p", "4x2x2"), 6);
    CHECK(torus.compared > 3);
    CHECK(torus.equal > 0.9 * torus.compared);
    CHECK(torus.largest < 0.02);
    // lower bounds, in which messages count by the share that any routing sends
    const Differences routed = differences("mixtral-8x7b", catalogue_slice("tpu-v5p", "4x2x2"), 10, nullptr, false,
                                           Calibrations(std::vector<Calibration>{}));
    CHECK(routed.compared > 2);
    CHECK(routed.equal == routed.compared);
    const Differences adapters = differences("llama-3.1-8b", catalogue_slice("h100-sxm", "8x2"), 6, nullptr, true);
    CHECK(adapters.compared > 2);
    CHECK(adapters.equal > 0.8 * adapters.compared);
    CHECK(adapters.largest < 0.03);
}

// In every order of the axes the price of a plan must be its time when it is laid out alone, and at least the lower
// bound over all orders. The pricer leaves out the bound of links that several collectives share. Plans that are priced
// together share the layout of the first, so only most prices agree; a pricer of its own for each order, which lays
// plans out in that order, gives the right price for all of them.
TEST_CASE("plans in several orders of their axes" * doctest::test_suite("exhaustive")) {
    const std::int64_t sequence = 4096;
    const Model model = model_named("llama-3.1-8b", sequence);
    for (const auto& [machine, shape] : {std::pair("h100-sxm", "8x4"), std::pair("tpu-v5p", "2x4x4")}) {
        const Slice slice = catalogue_slice(machine, shape);
        const StepPricing pricing{std::make_shared<Calibrations>(Calibrations::built_in()), "", false, false,
                                  *built_in_step_model()};
        PlanPricer pricer(model, slice, pricing);
        AxisOrders orders(std::make_shared<Slice>(slice));
        RandomNumbers random(7);
        int compared = 0;
        int equal = 0;
        while (compared < 12) {
            TrainSetup setup = random_setup(random, slice.chips(), false, sequence);
            const std::vector<AxisOrder> all = orders.of(setup.plan);
            const auto any = pricer.price_any(setup, all, {1e9});
            if (!any) continue;
            for (std::size_t i = 0; i < all.size(); i += 3) {
                setup.plan.links = all[i];
                CAPTURE(plan_text(setup.plan));
                const auto priced = pricer.price(setup, {1e9});
                std::vector<std::string> notes;
                const auto alone = train_step(model, setup, slice, pricing, notes);
                REQUIRE((priced && alone));
                CHECK(any->seconds() <= priced->seconds());
                CHECK(any->memory.total() == priced->memory.total());
                const double seconds = alone->times.expected.value_or(alone->times.lower);
                const auto difference = [&](const PricedPlan& plan) {
                    return std::abs(std::max(plan.seconds(), alone->times.lower) / seconds - 1);
                };
                CHECK(difference(*priced) < 0.15);
                equal += difference(*priced) < 0.001 ? 1 : 0;
                PlanPricer own(model, slice, pricing);
                const auto in_own_order = own.price(setup, {1e9});
                REQUIRE(in_own_order);
                CHECK(difference(*in_own_order) < 0.001);
                ++compared;
            }
        }
        CAPTURE(machine);
        CHECK(equal * 3 >= compared * 2);
    }
}

// A limit just above what a plan takes must not reject it, whatever was compiled before.
TEST_CASE("what is known from other structures is below what a plan takes") {
    const std::int64_t sequence = 4096;
    const Model model = model_named("llama-3.1-8b", sequence);
    const Slice slice = catalogue_slice("h100-sxm", "8x2");
    const StepPricing pricing{std::make_shared<Calibrations>(Calibrations::built_in()), "", false, false,
                              *built_in_step_model()};
    RandomNumbers random(5);
    int compared = 0;
    for (int i = 0; i < 4; ++i) {
        TrainSetup setup = random_setup(random, slice.chips(), false, sequence);
        setup.plan.context = setup.plan.sequence = 1;
        setup.plan.data = slice.chips() / (setup.plan.fsdp * setup.plan.tensor * setup.plan.pipeline);
        setup.plan.zero = setup.plan.data > 1 ? static_cast<int>(one_of(random, {0, 1, 2})) : 0;
        PlanPricer alone(model, slice, pricing);
        PlanPricer together(model, slice, pricing);
        for (const std::int64_t microbatches : {2, 1}) {
            for (const Remat remat : {Remat::none, Remat::selective, Remat::full}) {
                setup.batch = {64 * sequence, sequence, microbatches};
                setup.options.remat = remat;
                const auto exact = alone.price(setup, {1e9});
                REQUIRE(exact);
                CAPTURE(plan_text(setup.plan));
                CAPTURE(microbatches);
                CAPTURE(static_cast<int>(remat));
                const double capacities = exact->memory.total() / *exact->memory.capacity * 1.0001;
                const auto priced = together.price(setup, {capacities, exact->seconds() * 1.0001});
                REQUIRE(priced);
                CHECK(priced->known == PricedPlan::Known::all);
                ++compared;
            }
        }
    }
    CHECK(compared == 24);
}
