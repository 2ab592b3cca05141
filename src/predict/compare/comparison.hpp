// A measured time beside the predicted one, whatever was measured.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "calibrate/step/step_law.hpp"

namespace roofline::core {

/// What is predicted for one row of a measurement table, in seconds.
struct PredictedTime {
    double lower_s = 0;                    ///< nothing can be faster, by the published rates
    std::optional<double> resident_s;      ///< the same where a cache may have kept what it can hold
    std::optional<double> expected_s;      ///< where constants have been calibrated
    std::optional<double> expected_error;  ///< the relative error they showed on rows that they were not fitted to
};

/// What the row of a table is a time of.
enum class MeasuredKind {
    collective,
    kernel,
    run,  ///< of a whole program: a training step, what a server does
};

/// What a device held beside what it is predicted to hold, bytes.
struct MemoryComparison {
    double measured = 0;
    double predicted = 0;
    std::string what;  ///< as the table says: "allocated", "reserved"; "" where it does not

    /// |predicted - measured| / measured.
    [[nodiscard]] double error() const { return std::abs(predicted - measured) / measured; }
};

/// A row of a measurement table and its prediction.
struct Comparison {
    int line = 0;  ///< of the table
    MeasuredKind kind = MeasuredKind::collective;
    std::string source;        ///< who published it; "" where the reports do not group by it
    std::string strategy;      ///< of a run, how its chips share the work: "fsdp", "tensor, pipeline"
    std::string system;        ///< "h100-sxm": what the rows of a group ran on
    std::string slice;         ///< "h100-sxm5:8"
    std::string operation;     ///< "all_reduce", "matmul"
    std::string shape;         ///< of a kernel: "M=1, N=32, K=64"; of a run: its model and batch; "" for a collective
    std::int64_t devices = 1;  ///< of one group
    double bytes = 0;          ///< its size, as the table counts it
    std::string dtype;         ///< "" where the table does not say
    std::string software;      ///< "nccl 2.27.3"
    std::string variant;       ///< "custom graph", "in-place"
    std::int64_t groups = 1;   ///< that did the same at the same time
    double measured_s = 0;     ///< 0: the row has no time, but memory
    double rounding_s = 0;     ///< by which the table's rounding may have put the measured time off
    PredictedTime prediction;
    std::optional<MemoryComparison> memory;
    std::optional<StepParts> parts;  ///< of a training step

    [[nodiscard]] bool timed() const { return measured_s > 0; }
    /// The expected time, or where nothing is calibrated the lower bound.
    [[nodiscard]] double predicted_s() const { return prediction.expected_s.value_or(prediction.lower_s); }
    /// |predicted - measured| / measured.
    [[nodiscard]] double error() const { return std::abs(predicted_s() - measured_s) / measured_s; }
    [[nodiscard]] double error_of_lower() const { return std::abs(prediction.lower_s - measured_s) / measured_s; }
    /// Faster than the bound that caches leave, by more than what the table rounded off.
    [[nodiscard]] bool below_lower() const { return faster_than(prediction.resident_s.value_or(prediction.lower_s)); }
    /// Faster than main memory allows, but not faster than with what a cache may have kept.
    [[nodiscard]] bool cached() const { return faster_than(prediction.lower_s) && !below_lower(); }

private:
    [[nodiscard]] bool faster_than(double bound_s) const {
        return timed() && (measured_s + rounding_s) * (1 + 1e-9) < bound_s;
    }
};

}  // namespace roofline::core
