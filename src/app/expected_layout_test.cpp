// Tests which layout the expected time belongs to.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/op_answers.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

OpRequest two_products(std::int64_t rows) {
    OpRequest request;
    request.program = "A : bf16[B_X, D_Y]; W : bf16[D_Y, F_X]; V : bf16[F, E]; H = A *_D W; O : bf16[B, E_X] = H * V";
    request.dims = {fmt::format("B={},D=1024,F=1024,E=2048", rows)};
    request.mesh = {"X=4,Y=8"};
    request.machines = {{"h100-sxm:4x8", {}}};
    return request;
}

double expected(const OpRequest& request) {
    const auto answers = op_answers(request, {});
    REQUIRE(answers.has_value());
    REQUIRE(fastest(answers->front()).expected_s);
    return *fastest(answers->front()).expected_s;
}

}  // namespace

// Twice the work cannot take less time, and there is a layout for the larger batch that also works for the smaller one.
// With the layout of the least lower bound, 256 rows were expected to take 0.114 ms and 128 rows 0.141 ms.
TEST_CASE("an expected time does not fall because a doubled batch has another layout") {
    double last = 0;
    for (const std::int64_t rows : {64, 128, 256, 512, 1024, 2048}) {
        CAPTURE(rows);
        const double seconds = expected(two_products(rows));
        CHECK(seconds > last * 0.97);
        last = seconds;
    }
}

TEST_CASE(
    "the layout that is expected to be the fastest takes no longer than that with the least bound, and a note names "
    "it") {
    const auto answers = op_answers(two_products(2048), {});
    REQUIRE(answers.has_value());
    const Prediction& answer = answers->front();
    const Prediction& best = fastest(answer);
    REQUIRE(&best != &answer);
    CHECK(*best.expected_s < *answer.expected_s);
    CHECK(best.analysis.total.bounds.lower >= answer.analysis.total.bounds.lower);
    bool said = false;
    for (const std::string& note : answer.notes)
        said = said || note.find("the expected time is that of a faster layout: " + communication_text(best)) !=
                           std::string::npos;
    CHECK(said);
}

TEST_CASE("each point of a sweep has the expected time of an answer for that point, where the layouts are the same") {
    OpRequest request = two_products(64);
    request.dims = {"D=1024,F=1024,E=2048"};
    request.sweeps = {"B=64..2048*2"};
    const auto axes = sweep_axes(request);
    REQUIRE(axes.has_value());
    const auto answers = op_answers(request, *axes);
    REQUIRE(answers.has_value());
    for_each_point(answers->front(), *axes,
                   [&](std::span<const std::int64_t> sizes, const CompiledProgram::Point&, const Prediction&,
                       std::optional<double> seconds) {
                       REQUIRE(seconds);
                       // Layouts are enumerated per program, so one of the two may have an additional layout.
                       CHECK(*seconds == approx(expected(two_products(sizes[0]))).epsilon(0.1));
                   });
}

TEST_CASE("matmuls of two dtypes without measurements take the model of 16 bits, at the error of such models") {
    OpRequest request;
    request.machines = {{"b200-sxm", {}}};
    request.program = "f32[B=64, D=4096] * bf16[D, F=4096] -> f32[B, F]";
    const auto mixed = op_answers(request, {});
    REQUIRE(mixed.has_value());
    REQUIRE(mixed->front().expected_s);
    CHECK(mixed->front().models.kernels.front()->key.dtype == "bf16");
    CHECK(*mixed->front().expected_error >= 0.41);
    request.program = "f64[B=64, D=4096] * bf16[D, F=4096] -> f64[B, F]";
    const auto wide = op_answers(request, {});
    REQUIRE(wide.has_value());
    CHECK_FALSE(wide->front().expected_s);
}
