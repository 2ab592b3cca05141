// A sweep of a machine's figures, alone or against sizes: the answer at each point of a grid, and where it flips.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// What a sweep tells of one answer.
struct SweptAnswer {
    double lower_s = 0;
    std::optional<double> expected_s{};      ///< empty where nothing is calibrated
    std::optional<double> rate{};            ///< FLOP/s or tokens/s at the expected time, or else at the lower bound
    std::string bound_by{};                  ///< label of the bottleneck of the lower bound: "HBM"
    std::string plan{};                      ///< that the program chose; "" where none is chosen
    std::optional<std::int64_t> requests{};  ///< in flight, of the plan; empty where they are not searched
    std::string note{};                      ///< why the answer is none: "does not fit"; "" otherwise

    [[nodiscard]] double seconds() const { return expected_s.value_or(lower_s); }
};

struct SweptAxis {
    std::string name;  ///< path of a figure, "hbm.bandwidth", or name of a size, "B"
    bool figure = true;
    std::string unit{};  ///< of the numbers; "" of a size
    std::vector<double> numbers;
    std::vector<std::string> texts;  ///< of the numbers, for people
};

struct SweptPoint {
    std::vector<std::size_t> at;  ///< of each axis the index of its value
    std::optional<SweptAnswer> answer{};
    std::string refused{};  ///< why there is no answer
};

/// A value of a figure at which the plan or the bottleneck changes, known to 1 %.
struct SweptFlip {
    std::vector<std::size_t> at;  ///< the point before it
    std::size_t axis = 0;
    double number = 0;  ///< the first value with `after` that was tried
    std::string text{};
    bool of_plan = false;  ///< otherwise of the bottleneck
    std::string before;
    std::string after;
};

struct FigureSweep {
    std::string title;    ///< of what is swept
    std::string machine;  ///< "h200:8"
    std::string time;     ///< what the times are of: "step"
    std::string rate;     ///< unit of the rates: "tokens/s"
    std::vector<SweptAxis> axes;
    std::vector<SweptPoint> points{};  ///< the last axis changes fastest
    std::vector<SweptFlip> flips{};
    std::vector<std::string> notes{};
};

/// Answers for the values of the axes, in their order.
using SweptQuestion = std::function<Result<SweptAnswer>(std::span<const double> numbers)>;
/// Returns a value of an axis for people.
using SweptText = std::function<std::string(std::size_t axis, double number)>;

/// Fills in points and flips. Between neighbours along a figure's axis with different plans, or with different
/// bottlenecks, the value at which they change is bisected; of several changes between two points each is found that
/// bisection meets. Errors: `interrupted`, or if no point has an answer, the error of the first one.
[[nodiscard]] Result<FigureSweep> sweep_figures(FigureSweep sweep, const SweptQuestion& question,
                                                const SweptText& text);

}  // namespace roofline::core
