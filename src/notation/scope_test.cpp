#include "notation/scope.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

struct Fixture {
    Source source{"B=8, D=4\nA : bf16[B_X, D]\n", "p.roof"};
    Program program;
    Scope scope{source, program};
};

ast::Type matrix(const std::string& first, const std::string& second) {
    ast::Type type;
    type.dims = {{first, std::nullopt, {}, {2, 10}}, {second, std::nullopt, {}, {2, 15}}};
    return type;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "dimensions keep the order in which they appear, and one size") {
    CHECK(scope.dim("D", std::nullopt, {1, 1}).has_value());
    CHECK(scope.dim("B", 8, {1, 1}).has_value());
    CHECK(scope.dim("D", 4, {1, 6}).has_value());
    CHECK(scope.dim("B", 8, {2, 1}).has_value());  // the same again
    CHECK(program.dims == std::vector<std::string>{"D", "B"});
    CHECK(program.sizes == Sizes{{"B", 8}, {"D", 4}});

    const Status conflict = scope.dim("D", 5, {2, 15});
    REQUIRE_FALSE(conflict.has_value());
    CHECK(conflict.error().code == "size_conflict");
    CHECK(conflict.error().message == "D = 5 here, but 4 at line 1, column 6");
    CHECK(conflict.error().place->line == 2);
}

TEST_CASE_FIXTURE(Fixture, "every bare number is a separate dimension") {
    const std::string first = scope.anonymous(16);
    const std::string second = scope.anonymous(16);
    CHECK(first != second);
    CHECK(first.front() == '#');
    CHECK(scope.size_of(first) == 16);
    CHECK(program.dims.empty());  // anonymous dimensions have no names
}

TEST_CASE_FIXTURE(Fixture, "a tensor has each dimension once and each mesh axis once") {
    CHECK(dims_of(*scope.type(matrix("B", "D"))) == std::vector<std::string>{"B", "D"});
    const auto twice = scope.type(matrix("B", "B"));
    REQUIRE_FALSE(twice.has_value());
    CHECK(twice.error().code == "dimension_twice");
    CHECK(twice.error().place->column == 15);

    ast::Type split = matrix("B", "D");
    split.dims[0].mesh = {"X"};
    CHECK(scope.type(split)->axes[0].mesh == std::vector<std::string>{"X"});
    split.dims[1].mesh = {"X"};
    CHECK_FALSE(scope.type(split).has_value());
}

TEST_CASE_FIXTURE(Fixture, "axes are checked against a mesh, if there is one") {
    CHECK(scope.check_axis("X", {}).has_value());
    CHECK(scope.mesh({{{"data", 4, {}}, {}}, {{"Y", 2, {}}, {}}}).has_value());
    CHECK(scope.check_axis("data", {}).has_value());
    const Status unknown = scope.check_axis("dta", {2, 10});
    REQUIRE_FALSE(unknown.has_value());
    CHECK(unknown.error().hint.find("data") != std::string::npos);
    CHECK(scope.mesh({{{"Y", 2, {}}, {}}}).error().code == "duplicate_axis");
}

TEST_CASE_FIXTURE(Fixture, "a name refers to its newest value") {
    Value value;
    value.name = "Weight";
    const ValueId first = scope.define(value);
    const ValueId second = scope.define(value);
    CHECK(first != second);
    CHECK(scope.find("Weight", {}) == second);
    scope.name_value(first, "Bias");
    CHECK(scope.lookup("Bias") == first);
    CHECK(program.values[first].name == "Bias");

    const auto missing = scope.find("Weigth", {2, 1});
    REQUIRE_FALSE(missing.has_value());
    CHECK(missing.error().code == "unknown_name");
    CHECK(missing.error().hint == "did you mean `Weight`?");
}
