// Measured and predicted trade-offs of served models: tokens/s per user against tokens/s per chip.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predict/compare/comparison.hpp"
#include "predict/compare/error_summary.hpp"

namespace roofline::core {

/// What a served model reaches under one load, in tokens per second.
struct ServedRates {
    double user = 0;  ///< of one request after its first token: 1 / TPOT
    double chip = 0;  ///< output tokens of the whole deployment / its chips
};

/// A measured load on a set-up.
struct ServedPoint {
    int line = 0;                       ///< of the table
    std::optional<double> concurrency;  ///< limit on concurrent requests; none: no limit
    ServedRates measured;
    std::optional<ServedRates> expected;
};

/// What users ask of a model: the measurements whose set-ups compete with each other.
struct ServedTask {
    std::string source;
    std::string model;   ///< by the name of its preset
    std::string system;  ///< "h200-sxm"
    std::string dtype;   ///< of the weights; "" if the table does not specify it
    double prompt = 0;   ///< tokens
    double output = 0;   ///< tokens

    auto operator<=>(const ServedTask&) const = default;
};

/// A set-up under several loads: one curve.
struct ServedCurve {
    ServedTask task;
    std::string slice;                ///< "h200-sxm:8": all chips
    std::string strategy;             ///< "tp8 ep8"
    std::string software;             ///< "vllm 0.19.0"
    std::vector<ServedPoint> points;  ///< by measured tokens/s per user, the fewest first
};

/// The curves of a table and the errors of their predictions.
struct ServingFrontiers {
    std::vector<ServedCurve> curves;  ///< by task, then by slice, strategy and software
    ErrorStats per_chip;              ///< of tokens/s per chip, over all points that have an expected one
    /// Of the frontiers of tasks, in tokens/s per chip at equal tokens/s per user: a point of the measured frontier
    /// against the predicted frontier, interpolated between its two neighbours. Both frontiers are of the points with
    /// predictions: those that no other point of the task exceeds in both rates.
    ErrorStats distance;
    /// Points of measured frontiers whose tokens/s per user are outside those of the predicted frontier. They are not
    /// part of `distance`.
    std::size_t outside = 0;
    std::size_t tasks = 0;  ///< whose frontiers `distance` is of
};

/// Returns the curves of the measurements of served models in the rows. A load becomes a point if its TPOT, its chips
/// and its tokens/s are known; the latter, measured as well as expected, follow from Little's law where the table does
/// not have them: concurrency * output / (TTFT + (output - 1) TPOT). Rows of one line of the table must be consecutive.
[[nodiscard]] ServingFrontiers serving_frontiers(const std::vector<Comparison>& rows);

}  // namespace roofline::core
