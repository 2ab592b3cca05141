// Tests that the collectives of a training step under each kind of parallelism are those of the original papers, with
// their bytes. The code does not list them: they follow from the shardings of tensors.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>

#include "plan/apply_plan.hpp"
#include "plan/decoder_test.hpp"
#include "program/adjoint.hpp"
#include "program/weight_arithmetic.hpp"

using namespace roofline::core;
using namespace roofline::core::plan_test;

namespace {

/// The collectives of one layer, and those outside of layers.
struct StepExchanges {
    Exchanges forward;
    Exchanges backward;
    Exchanges optimizer;
    Exchanges outside;
};

class StepReader {
public:
    StepReader(const TrainingProgram& step, const LaidOut& laid) : step_(step), laid_(laid) {}

    StepExchanges read() {
        block(laid_.local.body, false);
        return std::move(found_);
    }

private:
    void block(const Block& block, bool layer) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                this->block(*inner, layer || (inner->kind == Block::Kind::repeat && inner->count == "L"));
                continue;
            }
            const StepPhase phase = step_.phases.at(next_++);
            Exchanges& all = !layer                          ? found_.outside
                             : phase == StepPhase::forward   ? found_.forward
                             : phase == StepPhase::optimizer ? found_.optimizer
                                                             : found_.backward;
            add_messages(std::get<Statement>(node), step_.program.sizes, all);
        }
    }

    const TrainingProgram& step_;
    const LaidOut& laid_;
    std::size_t next_ = 0;
    StepExchanges found_;
};

StepExchanges step_of(const Plan& plan, const Options& options = {}, const std::string& shape = "8",
                      std::int64_t microbatches = 1, std::optional<Dtype> dispatch = std::nullopt) {
    const auto with = with_loss(sized_decoder(options));
    REQUIRE(with);
    TrainingOptions training;
    training.input_gradients = false;
    training.microbatches = microbatches;
    auto step = training_step(*with, training);
    REQUIRE_MESSAGE(step, step.error().message);
    if (dispatch) dispatch_in(*step, *dispatch);
    const auto planned = apply_plan(*step, decoder_roles(), plan);
    REQUIRE_MESSAGE(planned, planned.error().message);
    step->program = planned->program;
    const LaidOut laid = laid_out(step->program, planned->stay, shape);
    return StepReader(*step, laid).read();
}

constexpr double weights = attention_weights + mlp_weights + norms;
constexpr double kv = 2.0 * 2 * B * T * K * H;  // keys and values
constexpr double qo = 2.0 * 2 * B * T * K * G * H;

}  // namespace

TEST_CASE("a step of data parallelism all-reduces gradients once") {
    // Rajbhandari et al. 2020, 7.1: an all-reduce of the gradients, which moves 2 psi.
    const StepExchanges step = step_of({.data = 8});
    CHECK(step.forward == Exchanges{});
    CHECK(step.backward == Exchanges{});
    CHECK(step.optimizer == Exchanges{{"all_reduce data", {9, weights}}});
    CHECK(step.outside == Exchanges{{"all_reduce data", {3, 2.0 * (2 * V * D + D)}}});
}

TEST_CASE(
    "ZeRO-1 and ZeRO-2 reduce-scatter gradients and all-gather parameters, which moves as much as an all-reduce") {
    // Rajbhandari et al. 2020, 7.2.1: psi for the reduce-scatter and psi for the all-gather.
    const StepExchanges one = step_of({.data = 8, .zero = 1});
    CHECK(one.forward == Exchanges{});
    CHECK(one.backward == Exchanges{});
    CHECK(one.optimizer == Exchanges{{"all_gather data", {9, weights}}, {"reduce_scatter data", {9, weights}}});
    const StepExchanges two = step_of({.data = 8, .zero = 2});
    CHECK(two.forward == Exchanges{});
    CHECK(two.backward == Exchanges{{"reduce_scatter data", {9, weights}}});
    CHECK(two.optimizer == Exchanges{{"all_gather data", {9, weights}}});
}

TEST_CASE("ZeRO-3 and FSDP all-gather parameters for both passes and reduce-scatter gradients: 3 psi") {
    // Rajbhandari et al. 2020, 7.2.2
    for (const bool zero : {false, true}) {
        const std::string axis = zero ? "data" : "fsdp";
        const StepExchanges step = step_of(zero ? Plan{.data = 8, .zero = 3} : Plan{.fsdp = 8});
        CHECK(step.forward == Exchanges{{"all_gather " + axis, {9, weights}}});
        CHECK(step.backward ==
              Exchanges{{"all_gather " + axis, {9, weights}}, {"reduce_scatter " + axis, {9, weights}}});
        CHECK(step.optimizer == Exchanges{});
    }
}

TEST_CASE("tensor parallelism has two all-reduces in either pass of a layer") {
    // Shoeybi et al. 2019, 3: f and g
    const StepExchanges step = step_of({.tensor = 8, .tensor_tokens = false});
    CHECK(step.forward == Exchanges{{"all_reduce tensor", {2, 2.0 * activations}}});
    CHECK(step.backward == Exchanges{{"all_reduce tensor", {2, 2.0 * activations}}});
    CHECK(step.optimizer == Exchanges{});
    // For the head over the vocabulary: maximum, sum and the label's score of each token, and the gradient of its
    // input.
    CAPTURE(doctest::toString(step.outside));
    CHECK(step.outside.at("all_reduce tensor").count == 5);
}

TEST_CASE(
    "with sequence parallelism it has as many all-gathers and reduce-scatters, and one more all-gather for weights") {
    // Korthikanti et al. 2022, 4.2.2: the input of a block is kept split, and gathered again for the gradients of
    // weights.
    for (const std::int64_t microbatches : {1, 4}) {
        CAPTURE(microbatches);
        const StepExchanges step = step_of({.tensor = 8}, {}, "8", microbatches);
        CHECK(step.forward == Exchanges{{"all_gather tensor", {2, 2.0 * activations}},
                                        {"reduce_scatter tensor", {2, 2.0 * activations}}});
        Exchanges backward = step.backward;
        CHECK(backward["all_gather tensor"] == Exchanged{4, 4.0 * activations});
        CHECK(backward["reduce_scatter tensor"] == Exchanged{2, 2.0 * activations});
        // Each chip has the gradient of norms for its own tokens.
        CHECK(backward["all_reduce tensor"] == Exchanged{2, norms});
        CAPTURE(doctest::toString(backward));
        CHECK(backward.size() == 3);
        CHECK(step.optimizer.empty());
    }
}

TEST_CASE("Ulysses has four all-to-alls in either pass of a layer") {
    // Jacobs et al. 2023, 3.2
    const StepExchanges step = step_of({.sequence = 8});
    CHECK(step.forward == Exchanges{{"all_to_all sequence", {4, qo + kv}}});
    CAPTURE(doctest::toString(step.backward));
    CHECK(step.backward.at("all_to_all sequence") == Exchanged{4, qo + kv});
}

TEST_CASE("context parallelism passes keys and values round in either pass, and their gradients back") {
    // Liu et al. 2023: rings move as many bytes as all-gathers and reduce-scatters.
    const StepExchanges step = step_of({.context = 8});
    CHECK(step.forward == Exchanges{{"all_gather context", {2, kv}}});
    CAPTURE(doctest::toString(step.backward));
    CHECK(step.backward.at("all_gather context") == Exchanged{2, kv});
    CHECK(step.backward.at("reduce_scatter context") == Exchanged{2, kv});
}

TEST_CASE("gradients over context and sequence are reduced after all micro-batches") {
    for (const std::int64_t microbatches : {1, 4}) {
        CAPTURE(microbatches);
        const StepExchanges ring = step_of({.context = 8}, {}, "8", microbatches);
        CHECK(ring.backward == Exchanges{{"all_gather context", {2, kv}}, {"reduce_scatter context", {2, kv}}});
        CHECK(ring.optimizer == Exchanges{{"all_reduce context", {9, weights}}});
        const StepExchanges ulysses = step_of({.sequence = 8}, {}, "8", microbatches);
        CHECK(ulysses.backward == Exchanges{{"all_to_all sequence", {4, qo + kv}}});
        CHECK(ulysses.optimizer == Exchanges{{"all_reduce sequence", {9, weights}}});
        // ZeRO-1 shards over them as over data.
        const StepExchanges shared = step_of({.context = 8, .zero = 1}, {}, "8", microbatches);
        CHECK(shared.optimizer ==
              Exchanges{{"all_gather context", {9, weights}}, {"reduce_scatter context", {9, weights}}});
    }
}

TEST_CASE("expert parallelism has two all-to-alls in either pass of a layer") {
    // Lepikhin et al. 2021. Parameters that all tokens use, including the router, are as in data parallelism: their
    // gradients are reduced after all micro-batches.
    for (const std::int64_t microbatches : {1, 4}) {
        const StepExchanges step = step_of({.expert = 8}, {{"moe", true}}, "8", microbatches);
        const double tokens = 2.0 * A * activations;
        const double router = 2.0 * D * E;
        CHECK(step.forward == Exchanges{{"all_to_all expert", {2, tokens}}});
        CHECK(step.backward == Exchanges{{"all_to_all expert", {2, tokens}}});
        CHECK(step.optimizer == Exchanges{{"all_reduce expert", {7, attention_weights + norms + router}}});
    }
}

TEST_CASE("the expert dispatch uses 8 bits, the combine 16") {
    // DeepSeek-V3, 3.3.2: the forward dispatch, and gradients on their way back into experts; both combines stay in
    // bf16.
    const StepExchanges step = step_of({.expert = 8}, {{"moe", true}}, "8", 1, Dtype::fp8);
    const double tokens = 1.0 * A * activations;
    CHECK(step.forward == Exchanges{{"all_to_all expert", {2, tokens / 2 + tokens}}});
    CHECK(step.backward == Exchanges{{"all_to_all expert", {2, tokens / 2 + tokens}}});
}

TEST_CASE("parallelism over two tiers exchanges what each kind does, on its share") {
    // Hybrid sharding (Zhao et al. 2023, 3.2.2): sharded in a node, with gradients of each shard all-reduced over
    // nodes.
    const StepExchanges hybrid = step_of({.data = 2, .fsdp = 8}, {}, "8x2");
    CHECK(hybrid.forward == Exchanges{{"all_gather fsdp", {9, weights}}});
    CHECK(hybrid.backward == Exchanges{{"all_gather fsdp", {9, weights}}, {"reduce_scatter fsdp", {9, weights}}});
    CHECK(hybrid.optimizer == Exchanges{{"all_reduce data", {9, weights / 8}}});
    // Narayanan et al. 2021: tensor parallelism in a node, data parallelism over nodes.
    const StepExchanges both = step_of({.data = 2, .tensor = 8}, {}, "8x2");
    CHECK(both.forward == Exchanges{{"all_gather tensor", {2, 2.0 * activations / 2}},
                                    {"reduce_scatter tensor", {2, 2.0 * activations / 2}}});
    CHECK(both.optimizer == Exchanges{{"all_reduce data", {9, (attention_weights + mlp_weights) / 8 + norms}}});
}
