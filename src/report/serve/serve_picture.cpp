#include "report/serve/serve_picture.hpp"

#include <fmt/format.h>
#include "report/plot/plot.hpp"

namespace roofline::core {

namespace {

constexpr double ms = 1e3;

PlotCurve frontier_curve(const ServeAnswer& answer) {
    PlotCurve curve;
    std::int64_t first = 0;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < answer.frontier.size(); ++i) {
        const ServePoint& point = answer.frontier[i];
        if (answer.capacity && answer.max_batch > 0 && point.batch > answer.max_batch) continue;
        if (curve.points.empty()) first = point.batch;
        last = point.batch;
        curve.points.emplace_back(point.tpot_s * ms, point.tokens_per_s);
        if (i == answer.knee) {
            curve.critical = point.tpot_s * ms;
            curve.critical_text = fmt::format("knee: batch {}", point.batch);
        }
    }
    curve.label = curve.points.empty() ? "batch"
                  : first == last      ? fmt::format("batch {}", first)
                                       : fmt::format("batch {} to {}", first, last);
    return curve;
}

}  // namespace

std::string serve_picture(const std::vector<ServeAnswer>& answers) {
    const ServeAnswer& front = answers.front();
    SweepPlot plot;
    plot.title = fmt::format("{}, {} prompt and {} output tokens", front.model.name, front.prompt, front.output);
    plot.subtitle = fmt::format("{}, {} chip{}, {}", front.slice.machine.name, front.slice.chips(),
                                front.slice.chips() == 1 ? "" : "s", split_text(front));
    plot.x_label = "TPOT (ms)";
    plot.y_label = "tokens/s of the slice";
    plot.y_unit = "tokens/s";
    for (const ServeAnswer& answer : answers) {
        plot.curves.push_back(frontier_curve(answer));
        if (answers.size() > 1) plot.curves.back().label = slice_name(answer) + ", " + plot.curves.back().label;
    }
    if (answers.size() > 1) plot.subtitle = fmt::format("{} slices", answers.size());
    return to_svg(plot);
}

}  // namespace roofline::core
