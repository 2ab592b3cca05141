#include "app/op_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

// 1 TFLOP/s of bf16 matmul, 10 GB/s of HBM.
OpRequest array_matmul(std::vector<std::string> dims) {
    OpRequest op;
    op.program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
    op.machines = {{"toy.toml", R"(
id = "toy"
name = "Toy"
[[matmul]]
dtype = "bf16"
value = "1 TFLOP/s"
source = "s"
[[memory]]
level = "hbm"
bandwidth = { value = "10 GB/s", source = "s" }
)"}};
    op.dims = std::move(dims);
    return op;
}

const std::vector<double>& column(const SweepColumns& all, const std::vector<std::string>& key) {
    const auto found = std::ranges::find(all.columns, key, &SweepColumn::key);
    REQUIRE(found != all.columns.end());
    return found->values;
}

}  // namespace

TEST_CASE("each point of a sweep has the sizes at its place in all columns") {
    const auto sweep = sweep_op(array_matmul({"F=100"}), {{"B", {1, 1000}}, {"D", {10, 2000}}});
    REQUIRE(sweep.has_value());
    const SweepColumns all = sweep_columns(sweep->answer, sweep->axes);
    // 2 B D F over 1e12 and 2 (B D + D F + B F) over 1e10
    CHECK(column(all, {"flops"}) == std::vector<double>{2000, 4e8});
    CHECK(column(all, {"bytes", "hbm", "read"}) == std::vector<double>{2020, 4.4e6});
    CHECK(column(all, {"bytes", "hbm", "write"}) == std::vector<double>{200, 2e5});
    CHECK(column(all, {"time_s", "math"})[1] == approx(4e-4));
    CHECK(column(all, {"time_s", "hbm"})[1] == approx(4.6e-4));
    CHECK(column(all, {"lower_s"})[1] == approx(4.6e-4));
    CHECK(column(all, {"intensity", "hbm"})[1] == approx(4e8 / 4.6e6));
    CHECK(column(all, {"peak_fraction"})[1] == approx(4 / 4.6));
    CHECK(std::isnan(column(all, {"expected_s"})[0]));
    CHECK(all.resources[static_cast<std::size_t>(all.bound_by[0])] == "hbm");
}

TEST_CASE("sizes that are no sweep are refused with a remedy") {
    const OpRequest op = array_matmul({"D=8,F=8"});
    const auto code = [&](const OpRequest& asked, std::vector<PointSizes> columns) {
        const auto sweep = sweep_op(asked, std::move(columns));
        REQUIRE_FALSE(sweep.has_value());
        CHECK_FALSE(sweep.error().hint.empty());
        return sweep.error().code;
    };
    CHECK(code(op, {}) == "bad_request");
    CHECK(code(op, {{"B", {}}}) == "bad_size");
    CHECK(code(op, {{"B", {1, 0}}}) == "bad_size");
    CHECK(code(array_matmul({"F=8"}), {{"B", {1, 2}}, {"D", {1}}}) == "bad_size");
    CHECK(code(op, {{"D", {1, 2}}}) == "bad_request");
    OpRequest two = op;
    two.machines.push_back(two.machines.front());
    CHECK(code(two, {{"B", {1, 2}}}) == "bad_request");
}

TEST_CASE("a compiled operation has the figures of a sweep at any size") {
    for (const char* program :
         {"bf16[B, D] * bf16[D, F] -> bf16[B, F]", "causal[B,F](bf16[B, D] * bf16[F, D]) -> bf16[B, F]"}) {
        CAPTURE(program);
        OpRequest op = array_matmul({"D=2000,F=100"});
        op.program = program;
        auto compiled = CompiledOp::compile(op, {"B"});
        REQUIRE_MESSAGE(compiled.has_value(), compiled.error().message);
        CHECK(compiled->has_formulas() == std::string_view(program).starts_with("bf16"));
        const auto sweep = sweep_op(op, {{"B", {1, 77, 1000}}});
        REQUIRE(sweep.has_value());
        const SweepColumns all = sweep_columns(sweep->answer, sweep->axes);
        for (std::size_t i = 0; i < 3; ++i) {
            const std::int64_t size = sweep->axes.front().sizes[i];
            const auto point = compiled->at({&size, 1});
            REQUIRE(point.has_value());
            for (std::size_t key = 0; key < point->keys->size(); ++key) {
                const double there = column(all, (*point->keys)[key])[i];
                CHECK((point->values[key] == there || (std::isnan(point->values[key]) && std::isnan(there))));
            }
            CHECK(point->bound_by == all.resources[static_cast<std::size_t>(all.bound_by[i])]);
        }
        const std::int64_t none = 0;
        CHECK(compiled->at({&none, 1}).error().code == "bad_size");
    }
    CHECK(CompiledOp::compile(array_matmul({"D=2000"}), {"B"}).error().code == "unsized");
}
