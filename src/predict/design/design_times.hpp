// Times of workloads on the machines of a design space: predicted when they are needed, and bounded by neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/design/design.hpp"

namespace roofline::core {

using DesignPoint = std::vector<std::size_t>;

inline constexpr double never_s = std::numeric_limits<double>::infinity();

/// One plan of one workload. A figure that changes its time nowhere, as far as the corners of the space tell, is left
/// out of what times are remembered by; one of a capacity that only decides whether it fits is a threshold. After
/// probe() several threads may ask at once.
class DesignTimes {
public:
    DesignTimes(const DesignQuestion& question, const DesignPlan& plan) : question_(question), plan_(plan) {}

    /// Predicts at corners, and finds which figures matter. Errors: those of the prediction.
    [[nodiscard]] Status probe();

    /// Returns the time on a machine of the space; `never_s` where the workload does not fit. Errors: as above.
    [[nodiscard]] Result<double> seconds(const DesignPoint& at);
    /// What neighbours that were predicted tell of that time.
    [[nodiscard]] double at_least(const DesignPoint& at) const;
    [[nodiscard]] double at_most(const DesignPoint& at) const;

    [[nodiscard]] std::int64_t predicted() const { return predicted_; }
    /// Where a better figure made it slower: empty if nowhere.
    [[nodiscard]] const std::string& contradiction() const { return contradiction_; }

private:
    [[nodiscard]] double known_at_least(const DesignPoint& key) const;
    [[nodiscard]] double known_at_most(const DesignPoint& key) const;
    [[nodiscard]] std::vector<std::string> sets_at(const DesignPoint& at) const;
    [[nodiscard]] Result<double> predict(const DesignPoint& at);
    [[nodiscard]] DesignPoint key_of(const DesignPoint& at) const;
    [[nodiscard]] bool fits(const DesignPoint& at) const;
    [[nodiscard]] Status probe_axis(std::size_t axis, const DesignPoint& low, const DesignPoint& high);

    const DesignQuestion& question_;
    const DesignPlan& plan_;
    mutable std::mutex mutex_;  ///< of all below
    std::vector<bool> matters_;
    std::vector<std::size_t> threshold_;   ///< of each axis the least index that fits
    std::map<DesignPoint, double> known_;  ///< by what matters
    std::map<DesignPoint, double> exact_;  ///< all that was predicted
    std::int64_t predicted_ = 0;
    std::string contradiction_;
};

}  // namespace roofline::core
