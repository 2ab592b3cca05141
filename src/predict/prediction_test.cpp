// Tests that a prediction keeps what it points to.
#include "predict/prediction.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "network/slices_test.hpp"
#include "notation/notation.hpp"
#include "predict/predict.hpp"

using namespace roofline::core;

namespace {

// Whether all statements of the kernels are those of the program that the prediction itself holds.
bool keeps_statements(const Prediction& answer) {
    std::set<const Statement*> kept;
    for (const Node& node : answer.local->body.nodes) {
        if (const auto* statement = std::get_if<Statement>(&node)) kept.insert(statement);
    }
    bool all = !answer.analysis.work.kernels.empty();
    for (const KernelWork& kernel : answer.analysis.work.kernels) {
        for (const Statement* statement : kernel.statements) all = all && kept.contains(statement);
    }
    return all;
}

Prediction sharded_products() {
    auto program =
        parse_program("A : bf16[B_X, D_Y]; W : bf16[D_Y, F_X]; V : bf16[F, E]; H = A *_D W; O : bf16[B, E_X] = H * V");
    REQUIRE(program);
    program->sizes = {{"B", 512}, {"D", 1024}, {"E", 2048}, {"F", 1024}};
    std::vector<std::string> notes;
    auto system = make_system(catalogue_slice("h100-sxm", "4x8"), {{"X", 4}, {"Y", 8}}, {}, *program, notes);
    REQUIRE(system);
    auto answer =
        predict(std::move(*program), std::move(*system), {}, std::make_shared<Calibrations>(Calibrations::built_in()));
    REQUIRE(answer);
    return std::move(*answer);
}

CalibratedKernel kernel_of(KernelKind kind, const char* dtype) {
    CalibratedKernel kernel;
    kernel.key = {kind, dtype, "library", ""};
    kernel.fit.rows = 100;
    return kernel;
}

/// Causal attention in bf16 on an MI300X, by kernels that were measured there and on an MI355X.
Prediction causal_attention(std::vector<CalibratedKernel> own, std::vector<CalibratedKernel> near) {
    auto program = parse_program(
        "Q : bf16[B, T, H]; K : bf16[B, S, H]; V : bf16[B, S, H]\n"
        "fuse { P : bf16[B, T, S] = softmax[S](causal[T, S](Q * K)); O : bf16[B, T, H] = P * V }");
    REQUIRE_MESSAGE(program, to_text(program.error()));
    program->sizes = {{"B", 32}, {"T", 4096}, {"S", 4096}, {"H", 128}};
    std::vector<std::string> notes;
    auto system = make_system(catalogue_slice("mi300x", "1"), {}, {}, *program, notes);
    REQUIRE(system);
    std::vector<Calibration> measured(2);
    measured[0].machine = "mi300x";
    measured[0].kernels = std::move(own);
    measured[1].machine = "mi355x";
    measured[1].kernels = std::move(near);
    auto answer = predict(std::move(*program), std::move(*system), {}, std::make_shared<Calibrations>(measured));
    REQUIRE(answer);
    return std::move(*answer);
}

}  // namespace

TEST_CASE("the notes on layouts that nobody wrote are known as such") {
    const Prediction answer = sharded_products();  // of its values only H has no written type
    CHECK(std::count_if(answer.notes.begin(), answer.notes.end(), is_layout_note) == 1);
}

// A copied Program has other statements: kernels of a copy once pointed to those of the answer that it was made of.
TEST_CASE("the kernels of a copied or moved prediction point to statements that it holds") {
    std::optional<Prediction> first = sharded_products();
    REQUIRE(!first->alternative_predictions.empty());
    const Prediction copy = *first;
    const Prediction moved = std::move(*first);
    first.reset();
    for (const Prediction* each : {&copy, &moved}) {
        CHECK(keeps_statements(*each));
        CHECK(keeps_statements(each->alternative_predictions.front()));
    }
    Prediction other = copy;
    other.local = std::make_shared<const Program>(*copy.local);
    CHECK_FALSE(keeps_statements(other));
}

TEST_CASE("a machine's model of another dtype precedes a near machine's, but not one of another kind as well") {
    const CalibratedKernel causal = kernel_of(KernelKind::causal_attention, "bf16");
    const auto from = [](const Prediction& answer) { return answer.models.transferred_from.at(0); };
    const Prediction alike = causal_attention({kernel_of(KernelKind::causal_attention, "f16")}, {causal});
    CHECK(from(alike).empty());
    CHECK(alike.models.twin_of.at(0) == "bf16");
    const Prediction unlike = causal_attention({kernel_of(KernelKind::attention, "f16")}, {causal});
    CHECK(from(unlike) == "mi355x");
    CHECK(unlike.models.twin_of.at(0).empty());
    // preferred to no model, and to another machine's model of another kind
    const std::vector<CalibratedKernel> none;
    for (const auto& near : {none, std::vector<CalibratedKernel>{kernel_of(KernelKind::attention, "bf16")}}) {
        const Prediction only = causal_attention({kernel_of(KernelKind::attention, "f16")}, near);
        CHECK(from(only).empty());
        CHECK(only.models.twin_of.at(0) == "bf16");
        REQUIRE(only.models.kernels.at(0) != nullptr);
        CHECK(only.models.kernels.at(0)->key.kind == KernelKind::attention);
    }
}

// Intel's page on the performance of collectives (docs.habana.ai) says what HCCL's demonstration took on eight Gaudi 3:
// 0.915792 ms for an all-reduce of 256 MiB, 0.230642 ms for an all-gather of 16 MiB of each. Three ports of 200 Gb/s go
// to each other card, 75 GB/s, and over these go the card's shard or piece, for an all-reduce twice.
TEST_CASE("collectives of Gaudi cards are bounded by the three ports between two of them") {
    const auto bound_s = [](const char* machine, const char* text, std::int64_t rows) {
        auto program = parse_program(text);
        REQUIRE_MESSAGE(program, to_text(program.error()));
        program->sizes = {{"B", rows}, {"D", 1024}};
        std::vector<std::string> notes;
        auto system = make_system(catalogue_slice(machine, "8"), {{"X", 8}}, {}, *program, notes);
        REQUIRE(system);
        auto answer = predict(std::move(*program), std::move(*system), {},
                              std::make_shared<Calibrations>(std::vector<Calibration>{}));
        REQUIRE(answer);
        REQUIRE(answer->analysis.total.seconds.has_value());
        return answer->analysis.total.bounds.lower;
    };
    const char* const all_reduce = "A : f32[B, D]{U_X}; C : f32[B, D] = A";
    const char* const all_gather = "A : f32[B_X, D]; C : f32[B, D] = A";
    const char* const all_to_all = "A : f32[B_X, D]; C : f32[B, D_X] = A";
    constexpr double mib = 1 << 20;
    const double reduced_s = bound_s("gaudi3", all_reduce, 65'536);
    CHECK(reduced_s == doctest::Approx(2 * 256 * mib / 8 / 75e9));
    CHECK(reduced_s < 0.915792e-3);
    CHECK(reduced_s > 0.915792e-3 / 1.05);
    const double gathered_s = bound_s("gaudi3", all_gather, 8 * 4096);
    CHECK(gathered_s == doctest::Approx(16 * mib / 75e9));
    CHECK(gathered_s < 0.230642e-3);
    CHECK(gathered_s > 0.230642e-3 / 1.05);
    CHECK(bound_s("gaudi2", all_reduce, 65'536) == doctest::Approx(2 * 256 * mib / 8 / 37.5e9));
    CHECK(bound_s("gaudi2", all_gather, 8 * 4096) == doctest::Approx(16 * mib / 37.5e9));
    CHECK(bound_s("gaudi2", all_to_all, 8 * 4096) == doctest::Approx(16 * mib / 8 / 37.5e9));
}
