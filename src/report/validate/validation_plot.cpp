#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/plot/plot.hpp"
#include "report/plot/scatter.hpp"
#include "report/validate/validation_report.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_set_ups = 8;  // as many as a plot has colours

std::size_t expected_points(const ServedCurve& curve) {
    return static_cast<std::size_t>(
        std::count_if(curve.points.begin(), curve.points.end(), [](const ServedPoint& p) { return p.expected; }));
}

/// Returns the curves of at least two expected points of the task that has most of them, those with the most points
/// first. A single point is not drawn: measured and expected ones are told apart by their lines.
std::vector<const ServedCurve*> curves_to_show(const ServingFrontiers& frontiers) {
    std::map<ServedTask, std::size_t> points;
    for (const ServedCurve& curve : frontiers.curves) {
        if (expected_points(curve) > 1) points[curve.task] += expected_points(curve);
    }
    const auto most = std::max_element(points.begin(), points.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    std::vector<const ServedCurve*> curves;
    for (const ServedCurve& curve : frontiers.curves) {
        if (expected_points(curve) > 1 && curve.task == most->first) curves.push_back(&curve);
    }
    std::sort(curves.begin(), curves.end(), [](const ServedCurve* a, const ServedCurve* b) {
        const std::size_t of_a = expected_points(*a);
        const std::size_t of_b = expected_points(*b);
        return of_a != of_b ? of_a > of_b : a < b;  // all are in one list, whose order decides
    });
    return curves;
}

void add_curves(const ServedCurve& curve, SweepPlot& plot) {
    PlotCurve measured;
    measured.family = fmt::format("{}, {}, {}", curve.slice, curve.strategy, curve.software);
    measured.kind = "measured";
    measured.label = measured.family + ", measured";
    PlotCurve expected = measured;
    expected.kind = "expected";
    expected.label = expected.family + ", expected";
    for (const ServedPoint& point : curve.points) {
        measured.points.emplace_back(point.measured.user, point.measured.chip);
        if (point.expected) expected.points.emplace_back(point.expected->user, point.expected->chip);
    }
    std::sort(expected.points.begin(), expected.points.end());
    plot.curves.push_back(std::move(expected));
    plot.curves.push_back(std::move(measured));
}

}  // namespace

Result<std::string> frontier_plot(const Validation& validation) {
    const std::vector<const ServedCurve*> curves = curves_to_show(validation.frontiers);
    if (curves.empty()) {
        return fail("no_plot",
                    "no set-up of a served model has expected rates under two loads, so that there is no curve",
                    "--plot scatter draws predicted over measured times");
    }
    const ServedTask& task = curves.front()->task;
    SweepPlot plot;
    plot.title =
        fmt::format("{} on {}, {} prompt and {} output tokens", task.model, task.system, task.prompt, task.output);
    const std::size_t shown = std::min(max_set_ups, curves.size());
    plot.subtitle = fmt::format("{}{}{}; {} of {} set-ups", validation.table, task.dtype.empty() ? "" : ": weights in ",
                                task.dtype, shown, curves.size());
    plot.x_label = "tokens/s per user";
    plot.y_label = "tokens/s per chip";
    plot.y_unit = "tokens/s";
    for (std::size_t i = 0; i < shown; ++i) add_curves(*curves[i], plot);
    return to_svg(plot);
}

std::string validation_plot(const Validation& validation) {
    const std::string predicted = validation.summary.of_expected ? "expected" : "lower bound";
    std::map<std::string, ScatterSeries> by_operation;
    for (const Comparison& row : validation.rows) {
        if (!row.timed() || (validation.summary.of_expected && !row.prediction.expected_s)) continue;
        ScatterSeries& series = by_operation[row.operation];
        series.points.emplace_back(row.measured_s * 1e6, row.predicted_s() * 1e6);
    }
    ScatterPlot plot;
    plot.title = fmt::format("{} and measured times of {}s", predicted, validation.kind);
    plot.title.front() = predicted.front() == 'e' ? 'E' : 'L';
    plot.subtitle = fmt::format("{}: {} rows, mean error {} %", validation.table,
                                grouped(static_cast<std::int64_t>(validation.summary.error.rows)),
                                percent_text(validation.summary.error.mean));
    plot.x_label = "measured, us";
    plot.y_label = predicted + ", us";
    plot.diagonal = predicted + " = measured";
    for (auto& [operation, series] : by_operation) {
        series.label = operation;
        std::replace(series.label.begin(), series.label.end(), '_', '-');
        plot.series.push_back(std::move(series));
    }
    return to_svg(plot);
}

}  // namespace roofline::core
