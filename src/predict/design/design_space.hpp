// The machines of a design space, their costs, and the search for the cheapest one within limits of time.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "predict/design/design.hpp"
#include "predict/design/design_times.hpp"

namespace roofline::core {

/// What a machine must reach.
struct DesignLimits {
    std::vector<std::optional<double>> each;  ///< by workload the longest time; empty: it is not asked
    std::optional<double> weighted{};         ///< longest sum of weight times time
};

/// A longest time that every workload reaches that fits.
inline constexpr double any_time_s = std::numeric_limits<double>::max();

class DesignSpace {
public:
    explicit DesignSpace(const DesignQuestion& question);

    /// Computes costs, and predicts at the corners. Errors: a figure without a cost, or outside of what its cost
    /// covers; those of predictions.
    [[nodiscard]] Status open();

    [[nodiscard]] double machines() const { return machines_; }
    [[nodiscard]] double constant_usd() const { return constant_usd_; }
    [[nodiscard]] double usd_of(const DesignPoint& at) const;
    /// The machine with the best of every figure.
    [[nodiscard]] DesignPoint most() const;

    /// Returns the cheapest machine within limits, of equally cheap ones that with the least first figure; empty if
    /// there is none. The same on any number of threads. Errors: those of predictions.
    [[nodiscard]] Result<std::optional<DesignPoint>> cheapest(const DesignLimits& limits);
    /// Returns the time of a workload by its fastest plan. Errors: as above.
    [[nodiscard]] Result<double> seconds(const DesignPoint& at, std::size_t workload);
    /// Predicts for the machines next to one, so that they may contradict what is known. Errors: as above.
    [[nodiscard]] Status look_around(const DesignPoint& at);

    [[nodiscard]] std::deque<std::deque<DesignTimes>>& times() { return times_; }

private:
    using Box = std::tuple<double, DesignPoint, DesignPoint>;  ///< cost of its cheapest machine, and its corners

    [[nodiscard]] Box box(DesignPoint low, DesignPoint high) const;
    [[nodiscard]] std::pair<Box, Box> halves(const Box& whole) const;
    [[nodiscard]] std::size_t longest(const DesignPoint& low, const DesignPoint& high) const;
    [[nodiscard]] Result<double> seconds(const DesignPoint& low, const DesignPoint& high, std::size_t workload);
    [[nodiscard]] double at_least(const DesignPoint& low, const DesignPoint& high, std::size_t workload) const;
    [[nodiscard]] double at_most(const DesignPoint& low, const DesignPoint& high, std::size_t workload) const;
    [[nodiscard]] std::optional<bool> known(const DesignPoint& low, const DesignPoint& high,
                                            const DesignLimits& limits) const;
    [[nodiscard]] Result<bool> meets(const DesignPoint& low, const DesignPoint& high, const DesignLimits& limits);
    void predict_ahead(const Box& first, const std::set<Box>& next, const DesignLimits& limits);

    const DesignQuestion& question_;
    std::deque<std::deque<DesignTimes>> times_;  ///< by workload and plan
    std::vector<std::vector<double>> usd_;
    double constant_usd_ = 0;
    double machines_ = 1;
};

}  // namespace roofline::core
