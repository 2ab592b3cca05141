#include "report/serve/serve_picture.hpp"

#include <fmt/format.h>

namespace roofline {

std::string serve_picture(const ServeAnswer& answer) {
    constexpr double ms = 1e3;
    SweepPlot plot;
    plot.title = fmt::format("{}, {} tokens in, {} out", answer.model.name, answer.prompt, answer.output);
    plot.subtitle = fmt::format("{}, {} chip{}, {}", answer.slice.machine.name, answer.slice.chips(),
                                answer.slice.chips() == 1 ? "" : "s", split_text(answer));
    plot.x_label = "time of a token (ms)";
    plot.y_label = "tokens/s of the slice";
    plot.y_unit = "tokens/s";
    PlotCurve curve;
    curve.label = "batch";
    const bool any_fits = answer.max_batch > 0;
    for (std::size_t i = 0; i < answer.frontier.size(); ++i) {
        const ServePoint& point = answer.frontier[i];
        if (answer.capacity && any_fits && point.batch > answer.max_batch) continue;
        if (curve.points.empty()) curve.label = fmt::format("batch {}", point.batch);
        curve.points.emplace_back(point.tpot_s * ms, point.tokens_per_s);
        if (i == answer.knee) {
            curve.critical = point.tpot_s * ms;
            curve.critical_text = fmt::format("knee: batch {}", point.batch);
        }
        if (curve.points.size() > 1) {
            curve.label = curve.label.substr(0, curve.label.find(" to ")) + fmt::format(" to {}", point.batch);
        }
    }
    plot.curves.push_back(std::move(curve));
    return to_svg(plot);
}

}  // namespace roofline
