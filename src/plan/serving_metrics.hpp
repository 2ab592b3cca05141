// What is measured of served requests: means and percentiles of their times, and goodput.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace roofline::core {

/// The mean and percentiles of a time in seconds.
struct TimeSpread {
    double mean = 0;
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;

    bool operator==(const TimeSpread&) const = default;
};

/// Returns mean and percentiles of values in any order; all 0 if there are none. A percentile is interpolated linearly
/// between the two nearest values, as numpy and the benchmarks of servers do by default.
[[nodiscard]] TimeSpread time_spread(std::vector<double> values);

/// A histogram of positive times whose classes are 0.27 % wide. It takes memory for its classes, and none for a value.
class TimeHistogram {
public:
    /// Adds a value so many times.
    void add(double value, double times);
    /// Adds `count` values that are evenly spaced from `first` to `last`, which is not less, each so many times.
    void add_evenly(double first, double last, double count, double times);

    [[nodiscard]] double count() const { return count_; }
    /// Returns mean and percentiles; all 0 if there are no values. The mean is exact; a percentile is the mean of the
    /// class that has it.
    [[nodiscard]] TimeSpread spread() const;

    bool operator==(const TimeHistogram&) const = default;

private:
    /// Values of one class.
    struct Class {
        double count = 0;
        double sum = 0;

        bool operator==(const Class&) const = default;
    };
    Class& class_at(int index);
    [[nodiscard]] double percentile(double fraction) const;

    std::vector<Class> classes_;
    int first_ = 0;  ///< index of the first of classes_
    double count_ = 0;
    double sum_ = 0;
};

/// The times of one request, in seconds from the beginning of the simulation.
struct RequestTimes {
    double arrival_s = 0;
    double first_token_s = 0;
    double end_s = 0;
    std::int64_t output = 0;  ///< tokens generated

    [[nodiscard]] double ttft_s() const { return first_token_s - arrival_s; }
    [[nodiscard]] double latency_s() const { return end_s - arrival_s; }
    /// Time per output token after the first; 0 if there is only one.
    [[nodiscard]] double tpot_s() const {
        return output > 1 ? (end_s - first_token_s) / static_cast<double>(output - 1) : 0;
    }

    bool operator==(const RequestTimes&) const = default;
};

/// The times that requests are to keep, in seconds. One that is not given is always kept.
struct ServingTargets {
    std::optional<double> ttft_s{};
    std::optional<double> tpot_s{};

    [[nodiscard]] bool any() const { return ttft_s || tpot_s; }
    [[nodiscard]] bool met_by(double ttft, double tpot) const {
        return (!ttft_s || ttft <= *ttft_s) && (!tpot_s || tpot <= *tpot_s);
    }

    bool operator==(const ServingTargets&) const = default;
};

/// What a simulated server did.
struct ServingRun {
    std::vector<RequestTimes> requests;  ///< in order of arrival
    /// Requests that all arrived at the beginning and that were followed by others. They found an empty server, and
    /// TTFT, latency and goodput are those of the others.
    std::int64_t first = 0;
    TimeHistogram gaps;    ///< times from a token of a request to its next one (ITL)
    double seconds = 0;    ///< until the last request ended
    double decoded_s = 0;  ///< the sum over requests of the time from the first token to the last

    bool operator==(const ServingRun&) const = default;
};

/// Figures of a run.
struct ServingTimes {
    TimeSpread ttft;        ///< time to first token, waiting included; of requests that arrive later than the beginning
    TimeSpread tpot;        ///< time per output token after the first, of requests that have further tokens
    TimeSpread itl;         ///< time from one token of a request to its next one (inter-token latency)
    TimeSpread latency;     ///< from arrival to the last token; of the requests of `ttft`
    double all_ttft_s = 0;  ///< mean TTFT, with the requests that all arrive at the beginning
    double running = 0;     ///< decoded sequences at a time, on average over time
    double requests_per_s = 0;
    double tokens_per_s = 0;  ///< generated tokens

    bool operator==(const ServingTimes&) const = default;
};

[[nodiscard]] ServingTimes serving_times(const ServingRun& run);

/// Returns the fraction of requests that meet the targets.
[[nodiscard]] double met_fraction(const ServingRun& run, const ServingTargets& targets);

}  // namespace roofline::core
