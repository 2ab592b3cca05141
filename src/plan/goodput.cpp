#include "plan/goodput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/portable_math.hpp"
#include "units/text.hpp"

namespace roofline::core {

double best_interval(double checkpoint_s, double between_s) {
    const double delta = checkpoint_s / between_s;
    // The root x = tau/M of h(x) = -ln(1 - x) - x = delta. Both starts are beyond it: h(x) >= x^2/2, and h exceeds
    // delta where ln(1 - x) = -(1 + delta). h is convex, so Newton's steps descend to the root.
    double x = std::min(std::sqrt(2 * delta), -exp_minus_one(-(1 + delta)));
    constexpr int most_steps = 60;
    for (int i = 0; i < most_steps && x < 1; ++i) {
        const double step = (-log_of_one_plus(-x) - x - delta) * (1 - x) / x;
        if (!(step > x * 1e-15)) break;
        x -= step;
    }
    return x * between_s;
}

Result<Goodput> goodput_of(const Recovery& recovery, double checkpoint_bytes, double ideal_s, std::int64_t chips) {
    Goodput result;
    const double between = 1 / (recovery.interruptions * static_cast<double>(chips));
    const double write = checkpoint_bytes / recovery.bandwidth;
    // The expected time is a convex function of the interval, so a bound of the interval is best where it binds.
    const double best = recovery.blocking ? best_interval(write, between) : write;
    const double interval = std::min(std::max(best, recovery.step_s), ideal_s);
    const double growth = recovery.blocking
                              ? std::exp(recovery.restart_s / between) * exp_minus_one((interval + write) / between)
                              : std::exp((recovery.restart_s + write) / between) * exp_minus_one(interval / between);
    const double slowdown = growth * between / interval;
    constexpr double most = 1e6;  // no run of even a second would end within a week
    if (!(slowdown < most)) {
        return fail(
            "bad_failures",
            fmt::format("a run with an interruption every {} hardly advances: a checkpoint takes {} and a "
                        "restart {}",
                        to_text(Seconds{between}), to_text(Seconds{write}), to_text(Seconds{recovery.restart_s})),
            "use fewer interruptions, a higher storage bandwidth or a shorter restart");
    }
    result.seconds = ideal_s * slowdown;
    result.fraction = 1 / slowdown;
    result.between_s = between;
    result.interruptions = result.seconds / between;
    result.checkpoint_bytes = checkpoint_bytes;
    result.checkpoint_s = write;
    result.interval_s = interval;
    result.writing = recovery.blocking ? write / interval * result.fraction : 0;
    // Each interruption is followed by a restart, which the next one may cut short: on average it lasts
    // M (1 - e^(-R/M)).
    result.restarts = -exp_minus_one(-recovery.restart_s / between);
    result.rework = std::max(0.0, 1 - result.fraction - result.writing - result.restarts);
    return result;
}

TrainingCost cost_with(const Goodput& goodput, TrainingCost cost) {
    const double slowdown = goodput.seconds / cost.seconds;
    cost.seconds = goodput.seconds;
    cost.chip_hours *= slowdown;
    if (cost.usd) *cost.usd *= slowdown;
    return cost;
}

}  // namespace roofline::core
