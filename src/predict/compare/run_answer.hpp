// Measured runs of a program on this machine with its prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Seconds of one run, as statistics of samples.
struct TimedRun {
    double median = 0;
    double p5 = 0;
    double p95 = 0;
    double best = 0;
    std::size_t kept = 0;  ///< undisturbed samples
    std::size_t tried = 0;
    bool disturbed = false;  ///< too few samples were undisturbed, so the statistics include all of them
};

/// The program at one set of sizes.
struct RunPoint {
    std::vector<std::int64_t> at;      ///< sizes along the axes of the sweep
    std::optional<Prediction> answer;  ///< empty without a machine
    double flops = 0;                  ///< counted as predictions count them
    double bytes = 0;                  ///< traffic of the main memory
    TimedRun cold;                     ///< with different memory for inputs and results in every run
    TimedRun hot;                      ///< with the same memory in every run
    std::vector<double> kernels;       ///< seconds of each kernel of the prediction, cold; empty if there is only one
    std::int64_t sets = 1;             ///< number of sets of inputs and results that the cold runs cycle through
    double set_bytes = 0;
    double pack_s = 0;  ///< packing of the weights into the library's layout, once
    double pack_bytes = 0;
    double max_rel_error = 0;  ///< of the checked elements: largest error / largest element
    double of_bound = 0;       ///< largest error / error bound of rounding
    std::int64_t checked = 0;  ///< number of elements
    std::string worst;         ///< the element with the largest error

    [[nodiscard]] bool right() const { return of_bound <= 1; }
};

/// The answer of `roofline run`.
struct RunAnswer {
    std::string title;   ///< the statement, or the program's name
    std::string sizes;   ///< sizes that are not swept: "D = 4096, F = 4096"
    std::string device;  ///< "2 threads, oneDNN 2.6.3 (AVX2)"
    std::vector<SweepAxis> axes;
    std::vector<RunPoint> points;  ///< a single point, or those of the sweep
    std::vector<std::string> notes;
};

}  // namespace roofline::core
