#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/plot/scatter.hpp"
#include "report/validate/validation_report.hpp"
#include "units/text.hpp"

namespace roofline::core {

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
