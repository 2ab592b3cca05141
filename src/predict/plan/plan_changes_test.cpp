#include "predict/plan/plan_changes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "base/approx_test.hpp"
#include "model/models_test.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

TrainQuestion question(const Slice& slice, const Plan& plan) {
    TrainQuestion question{model_named("llama-3.1-8b", 4096), slice, {}};
    question.setup.plan = plan;
    question.setup.batch = {64 * 4096, 4096, 1};
    return question;
}

TrainAnswer answer(const Slice& slice, const Plan& plan, const std::shared_ptr<Calibrations>& calibrations) {
    auto answer = predict_training(question(slice, plan), calibrations);
    REQUIRE(answer);
    return std::move(*answer);
}

Plan fsdp_and_tensor(std::int64_t fsdp, std::int64_t tensor) {
    Plan plan;
    plan.fsdp = fsdp;
    plan.tensor = tensor;
    return plan;
}

const Elasticity& elasticity(const PlanChanges& changes, std::string_view path) {
    const auto found = std::find_if(changes.elasticities.begin(), changes.elasticities.end(),
                                    [&](const Elasticity& each) { return each.path == path; });
    REQUIRE(found != changes.elasticities.end());
    return *found;
}

}  // namespace

// On a machine without calibrations the times are lower bounds: one plan is bound by its matmuls, the other one by its
// network. So the time of the first is inversely proportional to the peak and that of the other one to the bandwidth of
// the links, and they are equal where the bandwidth is higher by the ratio of their times.
TEST_CASE("elasticities and flips of a plan that computes and one that communicates") {
    Slice slice = catalogue_slice("tpu-v5p", "4x4x4");
    REQUIRE(set_figure(slice.machine, "ici.bandwidth=*0.3"));
    const auto calibrations = std::make_shared<Calibrations>(std::vector<Calibration>{});
    const TrainAnswer best = answer(slice, fsdp_and_tensor(64, 1), calibrations);
    const TrainAnswer other = answer(slice, fsdp_and_tensor(8, 8), calibrations);
    REQUIRE_FALSE(best.step->times.expected.has_value());
    const double ratio = other.step->times.lower / best.step->times.lower;
    REQUIRE(ratio > 1.1);
    REQUIRE(ratio < 4);
    const std::array<const TrainAnswer*, 1> others{&other};
    const double capacity = *best.step->memory.capacity;
    const double best_s = best.step->times.lower;
    const std::array<FasterPlan, 2> faster{{{0.04 * capacity, best_s / 1.1}, {0.06 * capacity, best_s / 2}}};
    const auto changes = plan_changes(question(slice, {}), best, others, faster, calibrations, 2);
    REQUIRE(changes);
    CHECK(elasticity(*changes, "matmul.bf16").value == approx(-1).epsilon(1e-6));
    CHECK(elasticity(*changes, "hbm.bandwidth").value == 0);
    CHECK(elasticity(*changes, "batch-tokens").value == approx(1).epsilon(1e-3));
    // FLOPs of a token: six for each weight of a matmul; for half of the plane of attention scores two products with
    // the heads' 4,096 channels in each of 32 layers, and five in the backward pass, which recomputes the scores
    const double weights = 6 * (8.03e9 - 128256 * 4096);
    const double attention = (2 + 5) * 2 * (4096 / 2) * 4096.0 * 32;
    const double of_sequence = attention / (weights + attention);
    CHECK(elasticity(*changes, "seq").value == approx(of_sequence).epsilon(0.01));
    // a model whose context does not allow longer sequences is asked about shorter ones
    TrainQuestion full = question(slice, {});
    full.model.context = full.model.sequence;
    const auto shorter = plan_changes(full, best, others, faster, calibrations, 1);
    REQUIRE(shorter);
    CHECK(elasticity(*shorter, "seq").value == approx(of_sequence).epsilon(0.01));
    CHECK(elasticity(*changes, "hbm.capacity").value == approx(-std::log(1.1) / std::log(1.05)).epsilon(1e-6));
    REQUIRE(changes->flips.size() == 2);
    for (const Flip& flip : changes->flips) {
        CHECK(plan_text(flip.other.plan) == "fsdp=8, tensor=8");
        // a lower peak makes the first plan slower, faster links the other one faster
        CHECK(flip.factor == approx(flip.path == "ici.bandwidth" ? ratio : 1 / ratio).epsilon(1e-3));
        CHECK((flip.path == "ici.bandwidth" || flip.path == "matmul.bf16"));
        CHECK_FALSE(flip.at.empty());
    }
    const auto alone = plan_changes(question(slice, {}), best, others, faster, calibrations, 1);
    REQUIRE(alone);
    CHECK(alone->flips.front().factor == changes->flips.front().factor);
}
