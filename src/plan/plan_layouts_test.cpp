// Tests that the collectives of a decoder layer under each kind of parallelism are those of the original papers, with
// their bytes. The code does not list them: they follow from the shardings of tensors.
#include <doctest/doctest.h>

#include <string>

#include "plan/apply_plan.hpp"
#include "plan/decoder_test.hpp"

using namespace roofline::core;
using namespace roofline::core::plan_test;

namespace {

void add_messages_in(const Block& block, const Sizes& sizes, Exchanges& all) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            add_messages_in(*inner, sizes, all);
        } else {
            add_messages(std::get<Statement>(node), sizes, all);
        }
    }
}

Exchanges layer_of(const Plan& plan, const Options& options = {}, const std::string& shape = "8") {
    const auto planned = apply_plan(sized_decoder(options), decoder_roles(), plan);
    REQUIRE_MESSAGE(planned, planned.error().message);
    const LaidOut laid = laid_out(planned->program, planned->stay, shape);
    Exchanges all;
    for (const Node& node : laid.local.body.nodes) {
        const auto* block = std::get_if<Block>(&node);
        if (block != nullptr) add_messages_in(*block, planned->program.sizes, all);
    }
    return all;
}

}  // namespace

TEST_CASE("data parallelism communicates nothing in the forward pass; ZeRO-3 and FSDP gather every weight") {
    CHECK(layer_of({.data = 8}).empty());
    // Rajbhandari et al. 2020, 7.2: an all-gather of the parameters for the forward pass.
    const Exchanges gathered{{"all_gather fsdp", {9, attention_weights + mlp_weights + norms}}};
    CHECK(layer_of({.fsdp = 8}) == gathered);
    const Exchanges sharded{{"all_gather data", {9, attention_weights + mlp_weights + norms}}};
    CHECK(layer_of({.data = 8, .zero = 3}) == sharded);
}

TEST_CASE("tensor parallelism has two all-reduces per layer, or as many all-gathers and reduce-scatters") {
    // Shoeybi et al. 2019: one all-reduce after attention and one after the MLP, each of the activations.
    CHECK(layer_of({.tensor = 8, .tensor_tokens = false}) == Exchanges{{"all_reduce tensor", {2, 2.0 * activations}}});
    // Korthikanti et al. 2022: an all-gather before each and a reduce-scatter after it, of the same bytes.
    CHECK(layer_of({.tensor = 8}) ==
          Exchanges{{"all_gather tensor", {2, 2.0 * activations}}, {"reduce_scatter tensor", {2, 2.0 * activations}}});
}

TEST_CASE("Ulysses has an all-to-all for queries, keys and values, and one after attention") {
    // Jacobs et al. 2023: Q, K and V before attention and O after it.
    CHECK(layer_of({.sequence = 8}) == Exchanges{{"all_to_all sequence", {4, 2.0 * B * T * H * (2 * K * G + 2 * K)}}});
}

TEST_CASE("context parallelism gathers keys and values on all members") {
    // Liu et al. 2023 pass them round a ring, which moves as many bytes as an all-gather (Grattafiori et al. 2024,
    // 3.3.2).
    CHECK(layer_of({.context = 8}) == Exchanges{{"all_gather context", {2, 2.0 * 2 * B * T * K * H}}});
}

TEST_CASE("expert parallelism has an all-to-all for the dispatch and one for the combine") {
    // Lepikhin et al. 2021: every token goes to each of its A experts, all tokens of the group together.
    CHECK(layer_of({.expert = 8}, {{"moe", true}}) == Exchanges{{"all_to_all expert", {2, 2.0 * A * activations}}});
}

TEST_CASE("tensor parallelism in experts reduces the combined result of a token, not that of each expert") {
    // As for one MLP (Shoeybi et al. 2019): an all-reduce of the activations after attention and one after the experts,
    // for any number of experts per token.
    CHECK(layer_of({.tensor = 8, .tensor_tokens = false}, {{"moe", true}}) ==
          Exchanges{{"all_reduce tensor", {2, 2.0 * activations}}});
}

TEST_CASE("experts over the tensor axis work on the tokens that every member has, and their results are added up") {
    // vLLM and TensorRT-LLM with tensor and expert parallelism of one degree: no dispatch, and the same all-reduce as
    // without expert parallelism.
    CHECK(layer_of({.tensor = 8, .tensor_tokens = false, .experts_over_tensor = true}, {{"moe", true}}) ==
          Exchanges{{"all_reduce tensor", {2, 2.0 * activations}}});
    // Where tokens lie over the tensor axis, they are sent to their experts over it (Megatron with expert tensor
    // parallelism of 1); attention gathers and scatters as without experts.
    CHECK(layer_of({.tensor = 8, .experts_over_tensor = true}, {{"moe", true}}) ==
          Exchanges{{"all_gather tensor", {1, 1.0 * 2 * B * T * D}},
                    {"all_to_all tensor", {2, 2.0 * A * activations}},
                    {"reduce_scatter tensor", {1, 1.0 * 2 * B * T * D}}});
}

TEST_CASE("combined parallelism exchanges what each kind does, on its share") {
    // Over two nodes: weights are split over the tensor axis and gathered over fsdp, activations the other way round.
    // Norms, which no tensor axis splits, are gathered whole.
    const Exchanges both = layer_of({.fsdp = 2, .tensor = 8}, {}, "8x2");
    CHECK(both == Exchanges{{"all_gather fsdp", {9, (attention_weights + mlp_weights) / 8 + norms}},
                            {"all_gather tensor", {2, 2.0 * activations / 2}},
                            {"reduce_scatter tensor", {2, 2.0 * activations / 2}}});
    const Exchanges experts = layer_of({.fsdp = 2, .expert = 8}, {{"moe", true}}, "8x2");
    CHECK(experts ==
          Exchanges{{"all_gather fsdp", {10, attention_weights + norms + 2.0 * D * E + 2.0 * 3 * D * I * E / 8}},
                    {"all_to_all expert", {2, 2.0 * A * activations / 2}}});
}
