// Tests that a prediction keeps what it points to.
#include "predict/prediction.hpp"

#include <doctest/doctest.h>

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

}  // namespace

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
