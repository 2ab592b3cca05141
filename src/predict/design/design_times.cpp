#include "predict/design/design_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "predict/plan/on_threads.hpp"

namespace roofline::core {

namespace {

bool below(const DesignPoint& a, const DesignPoint& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i]) return false;
    }
    return true;
}

}  // namespace

std::vector<std::string> DesignTimes::sets_at(const DesignPoint& at) const {
    std::vector<std::string> sets;
    for (std::size_t i = 0; i < at.size(); ++i) {
        sets.push_back(question_.axes[i].assignment(question_.axes[i].numbers[at[i]]));
    }
    return sets;
}

Result<double> DesignTimes::fresh(const DesignPoint& at) const {
    auto answer = plan_.answer(sets_at(at));
    if (!answer && answer.error().code != "no_fit") return fail(answer.error());
    return answer && answer->note.empty() ? answer->seconds() : never_s;
}

Result<double> DesignTimes::predict(const DesignPoint& at) {
    if (const auto found = exact_.find(at); found != exact_.end()) return found->second;
    ++predicted_;
    std::optional<Result<double>> seconds;
    {
        const std::lock_guard lock(mutex_);
        if (const auto node = ahead_.extract(at)) seconds = std::move(node.mapped());
    }
    if (!seconds) seconds = fresh(at);
    if (*seconds) exact_.emplace(at, **seconds);
    return std::move(*seconds);
}

std::optional<DesignPoint> DesignTimes::lacks(const DesignPoint& high) const {
    if (tabulated() || !fits(high)) return std::nullopt;
    DesignPoint key = key_of(high);
    if (known_.contains(key) || exact_.contains(key)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (ahead_.contains(key)) return std::nullopt;
    return key;
}

void DesignTimes::ahead(const DesignPoint& at) {
    auto seconds = fresh(at);
    const std::lock_guard lock(mutex_);
    ahead_.emplace(at, std::move(seconds));
}

DesignPoint DesignTimes::key_of(const DesignPoint& at) const {
    DesignPoint key = at;
    for (std::size_t i = 0; i < key.size(); ++i) {
        if (!matters_[i]) key[i] = question_.axes[i].numbers.size() - 1;
    }
    return key;
}

bool DesignTimes::fits(const DesignPoint& at) const {
    for (std::size_t i = 0; i < at.size(); ++i) {
        if (at[i] < threshold_[i]) return false;
    }
    return true;
}

// A figure matters most where the others are best, because nothing hides it there; the other corner is a check.
Status DesignTimes::probe_axis(std::size_t axis, const DesignPoint& low, const DesignPoint& high) {
    DesignPoint at = high;
    at[axis] = 0;
    ROOFLINE_TRY(const double best, predict(high));
    ROOFLINE_TRY(const double without, predict(at));
    at = low;
    at[axis] = high[axis];
    ROOFLINE_TRY(const double least, predict(low));
    ROOFLINE_TRY(const double with, predict(at));
    if (best == without && least == with) {
        matters_[axis] = false;
        return {};
    }
    if (!question_.axes[axis].path.ends_with(".capacity") || without != never_s || best == never_s) return {};
    // The least capacity that fits, with the best of all other figures and with the least of them.
    const auto first_fit = [&](DesignPoint others) -> Result<std::size_t> {
        std::size_t fails = 0;
        std::size_t holds = high[axis];
        while (holds - fails > 1) {
            others[axis] = (fails + holds) / 2;
            ROOFLINE_TRY(const double seconds, predict(others));
            (seconds == never_s ? fails : holds) = others[axis];
        }
        return holds;
    };
    if (with == never_s) return {};
    ROOFLINE_TRY(const std::size_t of_best, first_fit(high));
    ROOFLINE_TRY(const std::size_t of_least, first_fit(low));
    at = high;
    at[axis] = of_best;
    ROOFLINE_TRY(const double barely, predict(at));
    if (of_best != of_least || barely != best) return {};
    threshold_[axis] = of_best;
    matters_[axis] = false;
    return {};
}

Status DesignTimes::probe() {
    DesignPoint high;
    for (const FigureAxis& axis : question_.axes) high.push_back(axis.numbers.size() - 1);
    const DesignPoint low(high.size(), 0);
    matters_.assign(high.size(), true);
    threshold_.assign(high.size(), 0);
    // Capacities first: below them the others have no effect.
    DesignPoint least = low;
    for (const bool capacity : {true, false}) {
        for (std::size_t axis = 0; axis < high.size(); ++axis) {
            if (question_.axes[axis].path.ends_with(".capacity") != capacity || high[axis] == 0) continue;
            ROOFLINE_CHECK(probe_axis(axis, least, high));
            if (capacity) least[axis] = threshold_[axis] > 0 || !matters_[axis] ? threshold_[axis] : high[axis];
        }
    }
    const auto predicted = exact_;
    for (const auto& [at, seconds] : predicted) {
        if (fits(at)) note(key_of(at), seconds);
    }
    return {};
}

Status DesignTimes::tabulate() {
    std::size_t machines = 1;
    for (const FigureAxis& axis : question_.axes) machines *= axis.numbers.size();
    std::vector<Result<double>> seconds(machines, 0.0);
    std::vector<DesignPoint> at(machines, DesignPoint(question_.axes.size(), 0));
    for (std::size_t i = 0; i < machines; ++i) {
        std::size_t rest = i;
        for (std::size_t axis = at[i].size(); axis-- > 0;) {
            at[i][axis] = rest % question_.axes[axis].numbers.size();
            rest /= question_.axes[axis].numbers.size();
        }
    }
    on_threads(machines, question_.threads, std::make_shared<Calibrations>(std::vector<Calibration>{}),
               [&](std::size_t i, const auto&) {
                   const auto found = exact_.find(at[i]);
                   seconds[i] = found != exact_.end() ? Result<double>(found->second) : fresh(at[i]);
               });
    predicted_ += static_cast<std::int64_t>(machines - exact_.size());
    std::vector<double> table;
    for (const auto& each : seconds) {
        if (!each) return fail(each.error());
        table.push_back(*each);
    }
    table_ = std::move(table);
    return {};
}

double DesignTimes::least_of_table(const DesignPoint& low, const DesignPoint& high) const {
    double least = never_s;
    DesignPoint at = low;
    while (true) {
        std::size_t index = 0;
        for (std::size_t axis = 0; axis < at.size(); ++axis) {
            index = index * question_.axes[axis].numbers.size() + at[axis];
        }
        least = std::min(least, table_[index]);
        std::size_t axis = at.size();
        while (axis > 0 && at[axis - 1] == high[axis - 1]) {
            --axis;
            at[axis] = low[axis];
        }
        if (axis == 0) return least;
        ++at[axis - 1];
    }
}

Result<double> DesignTimes::seconds(const DesignPoint& low, const DesignPoint& high) {
    if (tabulated()) return least_of_table(low, high);
    if (!fits(high)) return never_s;
    const DesignPoint key = key_of(high);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    ROOFLINE_TRY(const double seconds, predict(key));
    note(key, seconds);
    return seconds;
}

void DesignTimes::note(const DesignPoint& key, double seconds) {
    constexpr double slack = 1e-9;
    const bool falls = seconds >= known_at_least(key) * (1 - slack) && seconds <= known_at_most(key) * (1 + slack);
    if (!falls && contradiction_.empty()) contradiction_ = fmt::format("{}", fmt::join(sets_at(key), ", "));
    known_.emplace(key, seconds);
}

double DesignTimes::known_at_least(const DesignPoint& key) const {
    double least = 0;
    for (const auto& [other, seconds] : known_) {
        if (seconds > least && below(key, other)) least = seconds;
    }
    return least;
}

double DesignTimes::known_at_most(const DesignPoint& key) const {
    double most = never_s;
    for (const auto& [other, seconds] : known_) {
        if (seconds < most && below(other, key)) most = seconds;
    }
    return most;
}

double DesignTimes::at_least(const DesignPoint& low, const DesignPoint& high) const {
    if (tabulated()) return least_of_table(low, high);
    return fits(high) ? known_at_least(key_of(high)) : never_s;
}

double DesignTimes::at_most(const DesignPoint& low, const DesignPoint& high) const {
    if (tabulated()) return least_of_table(low, high);
    return fits(high) ? known_at_most(key_of(high)) : never_s;
}

}  // namespace roofline::core
