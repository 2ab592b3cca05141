// Runs of a program beside its prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Seconds of one run, from samples.
struct TimedRun {
    double median = 0;
    double p5 = 0;
    double p95 = 0;
    double best = 0;
    std::size_t kept = 0;  ///< samples that nothing disturbed
    std::size_t tried = 0;
    bool disturbed = false;  ///< too few were clean: the figures are of all of them
};

/// The program at one choice of sizes.
struct RunPoint {
    std::vector<std::int64_t> at;      ///< sizes of the swept axes
    std::optional<Prediction> answer;  ///< the prediction; none without a machine
    double flops = 0;                  ///< as predictions count them
    double bytes = 0;                  ///< across the main memory
    TimedRun cold;                     ///< inputs and results in other memory every time
    TimedRun hot;                      ///< the same memory every time
    std::vector<double> kernels;       ///< seconds of each kernel of the prediction, cold; empty where there is one
    std::int64_t sets = 1;             ///< of inputs and results that were gone through, cold
    double set_bytes = 0;
    double pack_s = 0;  ///< laying weights out anew, once
    double pack_bytes = 0;
    double max_rel_error = 0;  ///< of the elements checked: largest error over the largest element
    double of_bound = 0;       ///< largest error over what rounding explains
    std::int64_t checked = 0;  ///< elements
    std::string worst;         ///< the element that is furthest off

    [[nodiscard]] bool right() const { return of_bound <= 1; }
};

struct RunAnswer {
    std::string title;   ///< the statement, or the program's name
    std::string sizes;   ///< "D = 4096, F = 4096": of what is not swept
    std::string device;  ///< "2 threads, oneDNN 2.6.3 (AVX2)"
    std::vector<SweepAxis> axes;
    std::vector<RunPoint> points;  ///< one, or those of the sweep
    std::vector<std::string> notes;
};

}  // namespace roofline::core
