#include "app/op_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "app/op_answers.hpp"
#include "base/ascii.hpp"
#include "predict/swept_expectation.hpp"
#include "program/elementwise_products.hpp"

namespace roofline::core {

namespace {

constexpr double no_figure = std::numeric_limits<double>::quiet_NaN();

Status check_size(const std::string& dim, std::int64_t size) {
    if (size >= 1) return {};
    return fail("bad_size", fmt::format("the size of {} is {}", in_ticks(dim), size), "sizes are at least 1");
}

Status check_columns(const std::vector<PointSizes>& columns) {
    if (columns.empty()) return fail("bad_request", "no dimension has several sizes", "give one an array of sizes");
    for (const PointSizes& column : columns) {
        if (column.sizes.empty()) {
            return fail("bad_size", fmt::format("the sizes of {} are empty", in_ticks(column.dim)),
                        "give at least one");
        }
        if (column.sizes.size() != columns.front().sizes.size()) {
            return fail("bad_size",
                        fmt::format("{} has {} sizes, but {} has {}", in_ticks(column.dim), column.sizes.size(),
                                    in_ticks(columns.front().dim), columns.front().sizes.size()),
                        "give each dimension a size for each point");
        }
        ROOFLINE_CHECK(check_size(column.dim, *std::min_element(column.sizes.begin(), column.sizes.end())));
    }
    return {};
}

Status check_one_machine(const OpRequest& request) {
    if (request.machines.size() == 1) return {};
    return fail("bad_request",
                fmt::format("sizes in numbers are for one machine, and {} are given", request.machines.size()),
                "ask once for each machine");
}

}  // namespace

Result<OpSweep> sweep_op(const OpRequest& request, std::vector<PointSizes> columns) {
    ROOFLINE_CHECK(check_one_machine(request));
    ROOFLINE_CHECK(check_columns(columns));
    OpSweep sweep;
    for (PointSizes& column : columns) {
        sweep.axes.push_back({{std::move(column.dim)}, std::move(column.sizes), !sweep.axes.empty()});
    }
    ROOFLINE_TRY(auto answers, op_answers(request, sweep.axes));
    sweep.answer = std::move(answers.front());
    return sweep;
}

struct CompiledOp::Formulas {
    Formulas(std::vector<SweepAxis> swept, Prediction predicted, const std::vector<std::string>& dims)
        : axes(std::move(swept)),
          answer(std::move(predicted)),
          figures(answer),
          program(answer.program, answer.analysis, dims),
          point(program.make_point()),
          expected(answer, axes),
          keys(std::make_shared<const std::vector<std::vector<std::string>>>(figures.keys())),
          numbers(dims.size()) {}

    std::vector<SweepAxis> axes;
    Prediction answer;
    SweepFigures figures;
    CompiledProgram program;
    CompiledProgram::Point point;
    SweptExpectation expected;
    std::shared_ptr<const std::vector<std::vector<std::string>>> keys;
    std::vector<double> numbers;
};

CompiledOp::CompiledOp(OpRequest request, std::vector<std::string> dims)
    : request_(std::move(request)), dims_(std::move(dims)) {}
CompiledOp::CompiledOp(CompiledOp&&) noexcept = default;
CompiledOp& CompiledOp::operator=(CompiledOp&&) noexcept = default;
CompiledOp::~CompiledOp() = default;

Result<CompiledOp> CompiledOp::compile(OpRequest request, std::vector<std::string> dims) {
    ROOFLINE_CHECK(check_one_machine(request));
    CompiledOp compiled(std::move(request), std::move(dims));
    std::vector<SweepAxis> axes;
    constexpr std::int64_t any_size = 1024;
    for (const std::string& dim : compiled.dims_) axes.push_back({{dim}, {any_size}});
    ROOFLINE_TRY(auto answers, op_answers(compiled.request_, axes));
    Prediction& answer = answers.front();
    const bool same_everywhere = !answer.program.sharded() && answer.alternative_predictions.empty() &&
                                 mask_cases(answer.program, answer.program.sizes).empty() &&
                                 product_orders(answer.program, answer.program.sizes).empty() &&
                                 compiled.request_.tiles.empty();
    if (same_everywhere) {
        compiled.formulas_ = std::make_unique<Formulas>(std::move(axes), std::move(answer), compiled.dims_);
    }
    return compiled;
}

Result<OpPoint> CompiledOp::at(std::span<const std::int64_t> sizes) {
    OpPoint here;
    const auto take = [&](const SweepFigures& figures, const CompiledProgram::Point& point, const Prediction& at,
                          std::optional<double> expected_s) {
        here.values.assign(figures.keys().size(), no_figure);
        const int bound =
            figures.each(point, at, expected_s, [&](std::size_t key, double number) { here.values[key] = number; });
        if (bound >= 0) here.bound_by = figures.resources()[static_cast<std::size_t>(bound)];
    };
    if (formulas_ != nullptr) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            ROOFLINE_CHECK(check_size(dims_[i], sizes[i]));
            formulas_->numbers[i] = static_cast<double>(sizes[i]);
        }
        formulas_->program.evaluate(formulas_->numbers, formulas_->point);
        take(formulas_->figures, formulas_->point, formulas_->answer,
             formulas_->expected.at(sizes, formulas_->point.bounds));
        here.keys = formulas_->keys;
        return here;
    }
    std::vector<PointSizes> columns;
    for (std::size_t i = 0; i < sizes.size(); ++i) columns.push_back({dims_[i], {sizes[i]}});
    ROOFLINE_TRY(const auto sweep, sweep_op(request_, std::move(columns)));
    const SweepFigures figures(sweep.answer);
    for_each_point(
        sweep.answer, sweep.axes,
        [&](std::span<const std::int64_t> /*sizes*/, const CompiledProgram::Point& point, const Prediction& at,
            std::optional<double> expected_s) { take(figures, point, at, expected_s); });
    here.keys = std::make_shared<const std::vector<std::vector<std::string>>>(figures.keys());
    return here;
}

}  // namespace roofline::core
