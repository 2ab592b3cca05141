#include "predict/design/design_times.hpp"

#include <fmt/format.h>

#include <algorithm>

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

Result<double> DesignTimes::predict(const DesignPoint& at) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = exact_.find(at); found != exact_.end()) return found->second;
        ++predicted_;
    }
    auto answer = plan_.answer(sets_at(at));
    if (!answer && answer.error().code != "no_fit") return fail(answer.error());
    const double seconds = answer && answer->note.empty() ? answer->seconds() : never_s;
    const std::lock_guard lock(mutex_);
    exact_.emplace(at, seconds);
    return seconds;
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
    return {};
}

Result<double> DesignTimes::seconds(const DesignPoint& at) {
    if (!fits(at)) return never_s;
    const DesignPoint key = key_of(at);
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = known_.find(key); found != known_.end()) return found->second;
    }
    ROOFLINE_TRY(const double seconds, predict(key));
    const std::lock_guard lock(mutex_);
    constexpr double slack = 1e-9;
    const bool falls = seconds >= known_at_least(key) * (1 - slack) && seconds <= known_at_most(key) * (1 + slack);
    if (!falls && contradiction_.empty()) contradiction_ = fmt::format("{}", fmt::join(sets_at(key), ", "));
    known_.emplace(key, seconds);
    return seconds;
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

double DesignTimes::at_least(const DesignPoint& at) const {
    if (!fits(at)) return never_s;
    const std::lock_guard lock(mutex_);
    return known_at_least(key_of(at));
}

double DesignTimes::at_most(const DesignPoint& at) const {
    if (!fits(at)) return never_s;
    const std::lock_guard lock(mutex_);
    return known_at_most(key_of(at));
}

}  // namespace roofline::core
