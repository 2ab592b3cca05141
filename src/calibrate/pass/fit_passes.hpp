// Fit of the forward-pass models to timed passes.
#pragma once

#include <string>
#include <vector>

#include "calibrate/pass/pass_model.hpp"

namespace roofline::core {

/// A measured pass.
struct PassSample {
    std::string software;  ///< "llama.cpp"
    std::string machine;
    std::string model;
    std::string weights;  ///< "Q4_K_M"
    std::string source;
    PassParts parts;
    double measured_s = 0;
};

/// Returns the models of all software in the samples. Chips of one family in `known` stay one family, with its block
/// types; others become families of their own. The fit minimises the sum of |log(predicted / measured)| over the
/// constants of a family, and the factors of its chips, which are medians of measured over predicted; a chip with n
/// rows keeps n / (n + 1) of the logarithm of its factor. Errors are medians: on a quarter of the rows at a time, on
/// one chip at a time, and by chips of other families. The result is deterministic and independent of the order of
/// samples. Families with fewer than four samples have no model.
[[nodiscard]] PassModels fit_passes(std::vector<PassSample> samples, const PassModels& known);

}  // namespace roofline::core
