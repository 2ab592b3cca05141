// Times of workloads on the machines of a design space: predicted when they are needed, and bounded by neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/threads.hpp"
#include "predict/design/design.hpp"

namespace roofline::core {

using DesignPoint = std::vector<std::size_t>;

inline constexpr double never_s = std::numeric_limits<double>::infinity();

/// One plan of one workload. A figure that changes its time nowhere, as far as the corners of the space tell, is left
/// out of what times are remembered by; one of a capacity that only decides whether it fits is a threshold. Time is
/// taken to fall with every figure until a prediction contradicts it; tabulate() then asks every machine.
///
/// Everything that tells something is asked for in one order, so that answers do not depend on the number of threads:
/// ahead() only remembers a prediction for the time at which it is asked for.
class DesignTimes {
public:
    DesignTimes(const DesignQuestion& question, const DesignPlan& plan) : question_(question), plan_(plan) {}

    /// Predicts at corners, and finds which figures matter. Errors: those of the prediction.
    [[nodiscard]] Status probe();
    /// Predicts for all machines of the space, which ends every assumption. Errors: as above.
    [[nodiscard]] Status tabulate();

    /// Returns the least time of all machines between two corners; `never_s` where the workload fits on none. Errors:
    /// as above.
    [[nodiscard]] Result<double> seconds(const DesignPoint& low, const DesignPoint& high);
    /// What is known of that time without a prediction.
    [[nodiscard]] double at_least(const DesignPoint& low, const DesignPoint& high) const;
    [[nodiscard]] double at_most(const DesignPoint& low, const DesignPoint& high) const;

    /// Returns the machine that seconds() would predict for; empty if it need not, or if ahead() did.
    [[nodiscard]] std::optional<DesignPoint> lacks(const DesignPoint& high) const;
    void ahead(const DesignPoint& at);

    [[nodiscard]] std::int64_t predicted() const { return predicted_; }
    [[nodiscard]] bool tabulated() const { return !table_.empty(); }
    /// Where a better figure made it slower: empty if nowhere.
    [[nodiscard]] const std::string& contradiction() const { return contradiction_; }

private:
    [[nodiscard]] double known_at_least(const DesignPoint& key) const;
    [[nodiscard]] double known_at_most(const DesignPoint& key) const;
    [[nodiscard]] std::vector<std::string> sets_at(const DesignPoint& at) const;
    [[nodiscard]] Result<double> predict(const DesignPoint& at);
    [[nodiscard]] Result<double> fresh(const DesignPoint& at) const;
    void note(const DesignPoint& key, double seconds);
    [[nodiscard]] double least_of_table(const DesignPoint& low, const DesignPoint& high) const;
    [[nodiscard]] DesignPoint key_of(const DesignPoint& at) const;
    [[nodiscard]] bool fits(const DesignPoint& at) const;
    [[nodiscard]] Status probe_axis(std::size_t axis, const DesignPoint& low, const DesignPoint& high);

    const DesignQuestion& question_;
    const DesignPlan& plan_;
    std::vector<bool> matters_;
    std::vector<std::size_t> threshold_;   ///< of each axis the least index that fits
    std::map<DesignPoint, double> known_;  ///< by what matters
    std::map<DesignPoint, double> exact_;  ///< all that was predicted and asked for
    std::vector<double> table_;            ///< of all machines, the last axis changes fastest
    mutable Mutex mutex_;
    std::map<DesignPoint, Result<double>> ahead_;  ///< guarded by the mutex
    std::int64_t predicted_ = 0;
    std::string contradiction_;
};

}  // namespace roofline::core
