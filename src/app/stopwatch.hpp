// The time that work takes by a clock that a request brings along, because the library reads none itself.
#pragma once

#include <functional>
#include <optional>
#include <utility>

namespace roofline::core {

class Stopwatch {
public:
    /// Starts. `clock` returns seconds since some time; without one no time is known.
    explicit Stopwatch(std::function<double()> clock) : clock_(std::move(clock)), begin_(clock_ ? clock_() : 0) {}

    /// Returns the seconds since the start.
    [[nodiscard]] std::optional<double> seconds() const {
        return clock_ ? std::optional(clock_() - begin_) : std::nullopt;
    }

private:
    std::function<double()> clock_;
    double begin_;
};

}  // namespace roofline::core
