#include "plan/apply_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/key_table.hpp"
#include "notation/notation.hpp"
#include "program/limited_experts.hpp"

using namespace roofline::core;

namespace {

/// A decoder of two layers: width 64, 4 KV heads with 2 query heads each, 128 tokens.
Program decoder(const std::map<std::string, bool, std::less<>>& options = {}) {
    auto program = parse_program(architecture_text("decoder"), "", {options, {}});
    REQUIRE(program);
    const Sizes all{{"B", 32}, {"T", 128},  {"S", 128}, {"D", 64},  {"K", 4},  {"G", 2},
                    {"H", 16}, {"J", 16},   {"F", 256}, {"V", 512}, {"L", 2},  {"E", 8},
                    {"A", 2},  {"C", 1024}, {"I", 32},  {"Z", 32},  {"U", 128}};
    for (const std::string& dim : program->dims) program->sizes[dim] = all.at(dim);
    return *program;
}

DimRoles roles() { return parse_roles(architecture_text("decoder")).value(); }

/// The type of the first tensor of that name, without its dtype.
std::string type_of(const Program& program, std::string_view name) {
    for (const Value& value : program.values) {
        if (value.name != name) continue;
        const std::string text = type_text(program, value.type);
        return text.substr(text.find('['));
    }
    return "";
}

Program planned(const Plan& plan, const std::map<std::string, bool, std::less<>>& options = {}) {
    auto result = apply_plan(decoder(options), roles(), plan);
    REQUIRE_MESSAGE(result, result.error().message);
    return result->program;
}

}  // namespace

TEST_CASE("data parallelism splits sequences; fsdp splits weights over their width as well") {
    const Program data = planned({.data = 4});
    CHECK(type_of(data, "X") == "[B_{data}, T, D]");
    CHECK(type_of(data, "Kc") == "[B_{data}, S, K, H]");
    CHECK(type_of(data, "Wq") == "[D, K, G, H]");
    const Program both = planned({.data = 2, .fsdp = 4});
    CHECK(type_of(both, "X") == "[B_{data,fsdp}, T, D]");
    CHECK(type_of(both, "Wq") == "[D_{fsdp}, K, G, H]");
    CHECK(type_of(both, "Wd") == "[F, D_{fsdp}]");
    CHECK(type_of(both, "Pos") == "[T]");
    const Program zero = planned({.data = 2, .fsdp = 4, .zero = 3});
    CHECK(type_of(zero, "Wd") == "[F, D_{fsdp,data}]");
    // Members that have other tokens of the same sequences, or other experts, have the same weights.
    CHECK(type_of(planned({.data = 2, .context = 4, .zero = 3}), "Wd") == "[F, D_{data,context}]");
    CHECK(type_of(planned({.fsdp = 2, .context = 4}), "Wd") == "[F, D_{fsdp}]");
}

TEST_CASE("tensor parallelism splits heads, columns and vocabulary; activations between blocks are split by tokens") {
    const Program program = planned({.tensor = 4});
    CHECK(type_of(program, "Wq") == "[D, K_{tensor}, G, H]");
    CHECK(type_of(program, "Wo") == "[K_{tensor}, G, J, D]");
    CHECK(type_of(program, "Wg") == "[D, F_{tensor}]");
    CHECK(type_of(program, "Embed") == "[V_{tensor}, D]");
    CHECK(type_of(program, "P") == "[B, K_{tensor}, G, T, S]");
    CHECK(type_of(program, "X") == "[B, T_{tensor}, D]");
    CHECK(type_of(program, "Hm") == "[B, T, F_{tensor}]");
    CHECK(type_of(planned({.tensor = 4, .tensor_tokens = false}), "X") == "[B, T, D]");
    // Tokens that do not divide evenly stay whole: a decode iteration has one per sequence.
    Program one = decoder();
    one.sizes["T"] = 1;
    CHECK(type_of(apply_plan(one, roles(), {.tensor = 4})->program, "X") == "[B, T, D]");
}

TEST_CASE("more members than KV heads split the query heads") {
    const auto result = apply_plan(decoder(), roles(), {.tensor = 8});
    REQUIRE(result);
    CHECK(result->program.mesh == std::vector<MeshAxis>{{"tensor", 4, {}}, {"queries", 2, {}}});
    CHECK(type_of(result->program, "Wq") == "[D, K_{tensor}, G_{queries}, H]");
    CHECK(type_of(result->program, "Wk") == "[D, K_{tensor}, H]");
    CHECK(type_of(result->program, "Wg") == "[D, F_{tensor,queries}]");
    REQUIRE(result->notes.size() == 1);
    CHECK(result->notes.front().find("each of them is replicated on 2 chips") != std::string::npos);
    const auto wide = apply_plan(decoder(), roles(), {.tensor = 16});
    REQUIRE(!wide);
    CHECK(wide.error().hint == "possible degrees are 1, 2, 4, 8");
    CHECK(!apply_plan(decoder(), roles(), {.tensor = 3}));
}

TEST_CASE(
    "sequence parallelism splits tokens outside of attention and heads inside; context parallelism splits "
    "tokens everywhere") {
    const Program sequence = planned({.sequence = 4});
    CHECK(type_of(sequence, "X") == "[B, T_{sequence}, D]");
    CHECK(type_of(sequence, "Q") == "[B, T, K_{sequence}, G, H]");
    CHECK(type_of(sequence, "Kc") == "[B, S, K_{sequence}, H]");
    CHECK(type_of(sequence, "O") == "[B, T_{sequence}, K, G, J]");  // operand of a matmul with a weight
    CHECK(type_of(sequence, "Wq") == "[D, K, G, H]");
    const Program context = planned({.context = 4});
    CHECK(type_of(context, "X") == "[B, T_{context}, D]");
    CHECK(type_of(context, "Q") == "[B, T_{context}, K, G, H]");
    CHECK(type_of(context, "Kc") == "[B, S_{context}, K, H]");
    CHECK(type_of(context, "P") == "[B, K, G, T_{context}, S]");
}

TEST_CASE("gradients of parameters that all experts share, including a router, stay partial sums over expert") {
    auto step = training_step(decoder({{"moe", true}, {"expertbias", true}}));
    REQUIRE(step);
    const auto planned = apply_plan(*step, roles(), {.expert = 4});
    REQUIRE(planned);
    CHECK(type_of(planned->program, "dWr") == "[D, E]{U_{expert}}");
    CHECK(type_of(planned->program, "dWq") == "[D, K, G, H]{U_{expert}}");
    CHECK(type_of(planned->program, "dEu") == "[E_{expert}, D, I]");
    CHECK(type_of(planned->program, "dBed") == "[E_{expert}, D]");
}

TEST_CASE("places of experts lie over expert like their rows, while tokens and masks stay with their sequences") {
    Program limited = decoder({{"moe", true}});
    limit_experts(limited, 1);
    const auto result = apply_plan(limited, roles(), {.fsdp = 2, .expert = 4});
    REQUIRE_MESSAGE(result, result.error().message);
    CHECK(type_of(result->program, "X") == "[B_{fsdp,expert}, T, D]");
    CHECK(type_of(result->program, "Xe") == "[B_{fsdp}, E_{expert}, Places, D]");
    CHECK(type_of(result->program, "He") == "[B_{fsdp}, E_{expert}, Places, I]");
    CHECK(type_of(result->program, "Weights") == "[B_{fsdp,expert}, T, E, Places]");
}

TEST_CASE("expert parallelism splits experts, and sequences outside of experts") {
    const Program program = planned({.fsdp = 2, .expert = 4}, {{"moe", true}});
    CHECK(type_of(program, "Eu") == "[E_{expert}, D_{fsdp}, I]");
    CHECK(type_of(program, "Xe") == "[E_{expert}, C_{fsdp}, D]");
    CHECK(type_of(program, "X") == "[B_{fsdp,expert}, T, D]");
    CHECK(type_of(program, "Wr") == "[D_{fsdp}, E]");
    const Program biased =
        planned({.fsdp = 2, .expert = 4}, {{"moe", true}, {"expertbias", true}, {"routerbias", true}});
    CHECK(type_of(biased, "Bed") == "[E_{expert}, D_{fsdp}]");
    CHECK(type_of(biased, "Beu") == "[E_{expert}, I_{fsdp}]");
    CHECK(type_of(biased, "Br") == "[E_{fsdp}]");
    const auto dense = apply_plan(decoder(), roles(), {.expert = 4});
    REQUIRE(!dense);
    CHECK(dense.error().message == "expert=4, but the model has no experts");
    CHECK(!apply_plan(decoder({{"moe", true}}), roles(), {.expert = 16}));
}
