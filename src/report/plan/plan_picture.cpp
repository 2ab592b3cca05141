#include "report/plan/plan_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "report/model/model_words.hpp"
#include "report/plan/plan_words.hpp"
#include "report/plot/plot.hpp"

namespace roofline::core {

namespace {

struct AxisScale {
    std::string unit;
    double factor = 1;  ///< from SI base units
};

// Times and bytes are drawn in a unit that suits the smallest value.
AxisScale scale_of(PlanObjective objective, PlanBasis basis, double smallest) {
    switch (objective) {
        case PlanObjective::time:
            if (basis == PlanBasis::run) return {"days", 1 / 86400.0};
            return smallest < 1 ? AxisScale{"ms", 1e3} : AxisScale{"s", 1};
        case PlanObjective::cost:
            return {"USD", 1};
        case PlanObjective::energy:
            return {"J", 1};
        case PlanObjective::chips:
            return {"", 1};
        case PlanObjective::memory:
            return {"GB", 1e-9};
    }
    return {};
}

std::string label_of(PlanObjective objective, PlanBasis basis, const AxisScale& scale) {
    const std::string text = objective_text(objective, basis);
    return scale.unit.empty() ? text : fmt::format("{} ({})", text, scale.unit);
}

class FrontPicture {
public:
    explicit FrontPicture(const PlanJobsAnswer& answer)
        : answer_(answer), x_(answer.front_of->first), y_(answer.front_of->second) {}

    std::string run() {
        add_plans();
        std::vector<Point> all = front_points();
        for (const auto& [label, points] : plans_) all.insert(all.end(), points.begin(), points.end());
        x_scale_ = scale_of(x_, answer_.basis, least(all, true));
        y_scale_ = scale_of(y_, answer_.basis, least(all, false));
        const TrainAnswer& best = answer_.plan.best;
        SweepPlot plot;
        plot.title = fmt::format("{}: {} against {}", best.model.name, objective_text(y_, answer_.basis),
                                 objective_text(x_, answer_.basis));
        plot.subtitle = subtitle();
        plot.x_label = label_of(x_, answer_.basis, x_scale_);
        plot.y_label = label_of(y_, answer_.basis, y_scale_);
        plot.y_unit = y_scale_.unit.empty() ? "chips" : y_scale_.unit;
        plot.log_x = spread(front_points()) > 10;
        plot.curves.push_back(curve("front", front_points(), PlotLine::steps));
        for (const auto& [label, points] : plans_) {
            plot.curves.push_back(curve(label, {points.begin(), points.end()}, PlotLine::none));
        }
        return to_svg(plot);
    }

private:
    using Point = std::pair<double, double>;

    [[nodiscard]] std::vector<Point> front_points() const {
        std::vector<Point> points;
        for (const FrontPlan& each : answer_.front) points.emplace_back(*each.values.of(x_), *each.values.of(y_));
        return points;
    }

    // The plans of the front and the best plans of all jobs, by slice, or by machine where there are many slices.
    void add_plans() {
        std::set<std::string> slices;
        for (const PlanJobAnswer& job : answer_.jobs) slices.insert(job.slice);
        constexpr std::size_t most_slices = 8;
        const auto add = [&](const PlanJobAnswer& job, const PlanValues& values, std::string_view what) {
            const std::string group =
                slices.size() > most_slices ? job.slice.substr(0, job.slice.find(':')) : job.slice;
            const auto x = values.of(x_);
            const auto y = values.of(y_);
            if (x && y) plans_[fmt::format("{}{}", group, what)].insert({*x, *y});
        };
        for (const FrontPlan& each : answer_.front) add(answer_.jobs[each.job], each.values, "");
        const bool expected = !answer_.front.empty() && answer_.front.front().answer.step->times.expected;
        for (const PlanJobAnswer& job : answer_.jobs) {
            if (!job.values) continue;
            const bool bound = expected && !job.best->step->times.expected;
            add(job, *job.values, !job.within() ? ", beyond your limits" : bound ? ", lower bounds" : "");
        }
    }

    [[nodiscard]] std::string subtitle() const {
        const PlanJobAnswer& first = answer_.jobs.front();
        std::set<std::string> slices;
        std::set<std::int64_t> batches;
        for (const PlanJobAnswer& job : answer_.jobs) {
            slices.insert(job.slice);
            batches.insert(job.batch_tokens);
        }
        return fmt::format("{}, {}, sequences of {}",
                           slices.size() == 1 ? first.slice : fmt::format("{} slices", slices.size()),
                           batches.size() == 1 ? short_count(Rational(first.batch_tokens)) + " tokens per step"
                                               : fmt::format("{} batches", batches.size()),
                           first.sequence);
    }

    static double least(const std::vector<Point>& points, bool x) {
        double value = points.empty() ? 1 : x ? points.front().first : points.front().second;
        for (const Point& each : points) value = std::min(value, x ? each.first : each.second);
        return value;
    }

    static double spread(const std::vector<Point>& points) {
        return points.empty() ? 1 : points.back().first / points.front().first;
    }

    [[nodiscard]] PlotCurve curve(std::string label, const std::vector<Point>& points, PlotLine line) const {
        PlotCurve curve;
        curve.label = std::move(label);
        curve.family = curve.label;
        curve.line = line;
        for (const auto& [x, y] : points) curve.points.emplace_back(x * x_scale_.factor, y * y_scale_.factor);
        return curve;
    }

    const PlanJobsAnswer& answer_;
    PlanObjective x_;
    PlanObjective y_;
    AxisScale x_scale_;
    AxisScale y_scale_;
    std::map<std::string, std::set<Point>> plans_;
};

}  // namespace

std::string front_picture(const PlanJobsAnswer& answer) { return FrontPicture(answer).run(); }

}  // namespace roofline::core
