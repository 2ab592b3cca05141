// The cheapest machine of a space of figures that meets targets for several workloads, and what else it could be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "machine/figure_range.hpp"
#include "machine/machine.hpp"
#include "predict/design/cost_model.hpp"
#include "predict/figure_sweep.hpp"

namespace roofline::core {

inline constexpr double most_machines = 1e8;
/// Of a space with at most so many machines each one is predicted where a time does not fall with every figure.
inline constexpr double most_tabulated = 4096;

/// A way to run a workload: what an ordinary prediction with --set says of it. Called from several threads at once.
struct DesignPlan {
    std::string name;  ///< "fsdp=16, tensor=8; 2 microbatches, remat full"; "" where nothing is chosen
    std::function<Result<SweptAnswer>(const std::vector<std::string>& sets)> answer;
};

struct DesignWorkload {
    std::string name;
    std::string time;  ///< what its time is of: "a step"
    double weight = 1;
    std::optional<double> target_s{};
    std::vector<DesignPlan> plans;  ///< the fastest one that fits is used on each machine
};

struct DesignQuestion {
    Machine base;
    std::vector<FigureAxis> axes;  ///< values rise
    CostModel cost;
    std::vector<DesignWorkload> workloads;
    std::size_t front = 8;  ///< machines of the front
    std::size_t threads = 1;
};

/// What a workload takes on a machine.
struct DesignTime {
    SweptAnswer answer;
    std::string plan;
    /// Of each axis: per cent of this time for a per cent of the figure, -1 if it is inversely proportional.
    std::vector<double> elasticities{};
};

struct DesignMachine {
    std::vector<std::size_t> at;  ///< of each axis the index of its value
    std::vector<std::string> texts;
    double usd = 0;
    double weighted_s = 0;          ///< sum of weight times time
    std::vector<DesignTime> times;  ///< by workload
};

/// A value of a figure beyond the space that would do alone, all other figures being the best of the space.
struct DesignRemedy {
    std::size_t axis = 0;
    double number = 0;
    std::string text{};
};

/// A target that no machine of the space meets together with the others.
struct DesignShortfall {
    std::optional<std::size_t> workload{};  ///< empty: all targets together
    double seconds = 0;                     ///< on the nearest machine; `infinity` where it does not fit
    std::vector<DesignRemedy> remedies{};   ///< empty: no figure alone does with 16 times as much
};

struct DesignAnswer {
    bool met = true;             ///< whether a machine meets all targets
    bool proven = true;          ///< whether no machine can have been missed; see predict_design
    std::string unproven{};      ///< why not
    double machines = 0;         ///< of the space
    std::int64_t predicted = 0;  ///< predictions that were made
    DesignMachine base;          ///< the machine as it is; its cost if the model covers it
    std::optional<double> base_usd{};
    /// The cheapest that meets all targets; if none does, the nearest: the cheapest of those whose largest time over
    /// target is the least.
    DesignMachine best;
    std::vector<double> usd_of_percent;  ///< of each axis: USD of one per cent more of it at the best machine
    std::vector<std::optional<DesignMachine>> alone;  ///< by workload: the cheapest that meets its target alone
    std::vector<DesignMachine> front;           ///< the cheapest at each of several weighted times, the fastest last
    std::vector<DesignShortfall> shortfalls{};  ///< if no machine meets all targets
    std::vector<std::string> notes;
};

/// Searches the space. Time is taken to fall with every figure, and cost rises, so that of a box of machines the one
/// with the best figures tells whether any meets a target, and the one with the least tells what they cost at least.
/// That is checked on all that is predicted, the neighbours of the answer included. Where it does not hold, all
/// machines of a space of at most `most_tabulated` are predicted; of a larger one the answer is not `proven`. It is
/// the same for any number of threads. Errors: no figure, no workload; a figure that time need not fall with; one
/// without a cost, or with values that its cost does not cover; more than `most_machines`; errors of predictions.
[[nodiscard]] Result<DesignAnswer> predict_design(const DesignQuestion& question);

}  // namespace roofline::core
