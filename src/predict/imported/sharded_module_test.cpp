// Modules from before partitioning, beside what XLA's partitioner makes of them (JAX on eight devices of the host).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "import/xla/read_xla_module.hpp"
#include "machine/catalogue.hpp"
#include "predict/imported/module_answer.hpp"

using namespace roofline::core;

namespace {

Result<ModuleAnswer> ask_sharded(const std::string& text, const std::string& shape, const ModuleQuestion& question) {
    ROOFLINE_TRY(const auto module, read_xla_module(text, "m.mlir"));
    ROOFLINE_TRY(auto machine, find_machine("h100-sxm"));
    ROOFLINE_TRY(const auto slice, make_slice(std::move(machine), shape));
    return answer_module(module, "m.mlir", slice, question, std::make_shared<Calibrations>(Calibrations::built_in()));
}

ModuleAnswer sharded(const std::string& text, const std::string& shape = "8", const ModuleQuestion& question = {}) {
    auto answer = ask_sharded(text, shape, question);
    REQUIRE_MESSAGE(answer, answer.error().message);
    return std::move(*answer);
}

std::string attention_module() {
    std::ifstream file("docs/examples/attention.mlir");
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("an attention layer is laid out as XLA partitions it: heads on two devices, one all-reduce behind them") {
    const std::string text = attention_module();
    const ModuleAnswer answer = sharded(text);
    CHECK(answer.devices == 8);
    // Four projections and two products of attention, an eighth of each; XLA: f32[2,128,512] all-reduce over pairs.
    const double projections = 4 * 2.0 * 8 * 128 * 512 * 512;
    const double attention = 2 * 2.0 * 8 * 8 * 128 * 128 * 64;
    CHECK(answer.matmul_flops == (projections + attention) / 8);
    REQUIRE(answer.collectives.size() == 1);
    CHECK(answer.collectives.at("all-reduce").executed == 1);
    CHECK(answer.collectives.at("all-reduce").output_bytes == 2 * 128 * 512 * 4);
    // The batch over 4 devices, weights over 2: x and the result, and a half of each of the four matrices.
    CHECK(answer.memory.arguments == 2 * 128 * 512 * 4 + 4 * 512 * 256 * 4);
}

TEST_CASE("the axes of a module's mesh may have other names, and other sizes") {
    const std::string text = attention_module();
    ModuleQuestion question;
    question.mesh = {{"X", 4, {}}, {"Y", 2, {}}};
    CHECK(sharded(text, "8", question).prediction->analysis.total.bounds.lower ==
          sharded(text).prediction->analysis.total.bounds.lower);
    question.mesh = {{"data", 1, {}}, {"model", 8, {}}};
    const ModuleAnswer heads = sharded(text, "8", question);
    CHECK(heads.collectives.at("all-reduce").output_bytes == 8 * 128 * 512 * 4);
    question.mesh = {{"data", 4, {}}, {"model", 4, {}}};
    CHECK(sharded(text, "8x2", question).devices == 16);
}

TEST_CASE("a mesh is refused where nothing is laid out") {
    ModuleQuestion question;
    question.mesh = {{"X", 8, {}}};
    const auto error_of = [&](const std::string& text, const std::string& shape) {
        const auto answer = ask_sharded(text, shape, question);
        REQUIRE_FALSE(answer);
        return answer.error().code;
    };
    CHECK(error_of(attention_module(), "8") == "no_mesh");
    CHECK(error_of(attention_module(), "1") == "no_shardings");
    CHECK(error_of("HloModule m\nENTRY e {\n x = f32[8] parameter(0)\n ROOT y = f32[8] negate(x)\n}\n", "8") ==
          "no_shardings");
}

TEST_CASE("a program of hundreds of statements is laid out one after another, with a note") {
    std::string text =
        "HloModule m, num_partitions=8\nENTRY e {\n x0 = f32[1024,512] parameter(0), "
        "sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}\n u = f32[512,2048] parameter(1), "
        "sharding={devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}\n d = f32[2048,512] parameter(2), "
        "sharding={devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}\n";
    for (int i = 0; i < 200; ++i) {
        const std::string dims = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
        text +=
            fmt::format(" h{0} = f32[1024,2048] dot(x{0}, u){1} x{2} = f32[1024,512] dot(h{0}, d){1}", i, dims, i + 1);
    }
    text += " ROOT y = f32[1024,512] negate(x200)\n}\n";
    const ModuleAnswer answer = sharded(text);
    CHECK(answer.matmul_flops == 400 * 2.0 * 1024 * 512 * 2048 / 8);
    CHECK(std::any_of(answer.notes.begin(), answer.notes.end(), [](const std::string& note) {
        return note.find("are not compared jointly") != std::string::npos;
    }));
}
