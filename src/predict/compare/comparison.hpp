// A measured time or memory use, paired with its prediction.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "calibrate/step/step_model.hpp"

namespace roofline::core {

/// Predicted times of one measurement in seconds.
struct PredictedTime {
    double lower_s = 0;                    ///< lower bound at published rates
    std::optional<double> resident_s;      ///< lower bound if data may stay in caches that can hold it
    std::optional<double> expected_s;      ///< expected time, if the machine is calibrated
    std::optional<double> expected_error;  ///< its held-out relative error
};

/// The kind of operation that was timed.
enum class MeasuredKind {
    collective,
    kernel,
    training,  ///< of a whole step
    serving,   ///< of requests to a server
};

/// Memory that a device was measured to hold and predicted to hold, in bytes.
struct MemoryComparison {
    double measured = 0;
    double predicted = 0;
    std::string what;  ///< kind of memory, as the table specifies it: "allocated", "reserved"; "" if it does not

    /// Returns |predicted - measured| / measured.
    [[nodiscard]] double error() const { return std::abs(predicted - measured) / measured; }
};

/// The load on a served model.
struct MeasuredLoad {
    double prompt = 0;                  ///< prompt tokens as the table states them
    double output = 0;                  ///< output tokens, likewise
    std::optional<double> concurrency;  ///< limit on concurrent requests; none: no limit
    std::int64_t chips = 0;             ///< of the whole deployment; 0: unknown
};

/// A measurement, which is one row of a table, and its prediction.
struct Comparison {
    int line = 0;  ///< of the table
    MeasuredKind kind = MeasuredKind::collective;
    std::string source;     ///< its publisher; "" if reports do not group by publisher
    std::string model;      ///< of a served model, by the name of its preset
    std::string mode;       ///< of a served model: "aggregated", or "disaggregated" with prefill on other workers
    std::string strategy;   ///< of a run: its parallelism, "fsdp" or "tensor, pipeline"
    std::string system;     ///< "h100-sxm": the machine or server, by which rows are grouped
    std::string slice;      ///< "h100-sxm5:8"
    std::string operation;  ///< "all_reduce", "matmul"
    /// Of a kernel its dimensions, "M=1, N=32, K=64"; of a run its model and batch; "" for a collective.
    std::string shape;
    std::int64_t devices = 1;  ///< of one group
    double bytes = 0;          ///< size of the operation, as the table counts it
    std::string dtype;         ///< "" if the table does not specify it
    std::string software;      ///< "nccl 2.27.3"
    std::string variant;       ///< "custom graph", "in-place"
    std::int64_t groups = 1;   ///< number of groups that ran the operation simultaneously
    double measured_s = 0;     ///< 0 if memory was measured but not time
    double rounding_s = 0;     ///< largest error of the measured time that is due to the table's rounding
    PredictedTime prediction;
    std::string not_expected;  ///< why there is no expected time; "" if no calibrated model covers the measurement
    std::optional<MemoryComparison> memory;
    std::optional<StepParts> parts;    ///< of a training step
    std::optional<MeasuredLoad> load;  ///< of a served model

    [[nodiscard]] bool timed() const { return measured_s > 0; }
    /// Returns the expected time, or the lower bound if the machine is not calibrated.
    [[nodiscard]] double predicted_s() const { return prediction.expected_s.value_or(prediction.lower_s); }
    /// Returns |predicted - measured| / measured.
    [[nodiscard]] double error() const { return std::abs(predicted_s() - measured_s) / measured_s; }
    [[nodiscard]] double error_of_lower() const { return std::abs(prediction.lower_s - measured_s) / measured_s; }
    /// Returns whether the measured time is below the bound that allows for caches by more than rounding explains.
    [[nodiscard]] bool below_lower() const { return faster_than(prediction.resident_s.value_or(prediction.lower_s)); }
    /// Returns whether the measured time is below the bound of main memory but not below the one that allows for
    /// caches.
    [[nodiscard]] bool cached() const { return faster_than(prediction.lower_s) && !below_lower(); }

private:
    [[nodiscard]] bool faster_than(double bound_s) const {
        return timed() && (measured_s + rounding_s) * (1 + 1e-9) < bound_s;
    }
};

}  // namespace roofline::core
