// Laws fitted to tables of timed exchanges with experts, with the errors they show on rows that were held out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/calibration.hpp"

namespace roofline::core {

/// A measured row, priced.
struct ExchangeSample {
    std::string machine;  ///< of the catalogue
    ExchangeKey key;
    LawLink link;
    ExchangePoint point;
    double choices = 1;  ///< of a token: with experts and row_s what is held out as one shape
    double time_s = 0;
    double lower_s = 0;
    std::string source;
};

struct ExchangeFit {
    std::vector<Calibration> calibrations;  ///< by machine; of the laws' errors all but those of relatives
    std::int64_t rows = 0;                  ///< that laws were fitted to
    std::int64_t duplicates = 0;
    std::int64_t left_out = 0;  ///< more than 30 times off the law through the others, or faster than half their bound
    std::int64_t too_few = 0;   ///< rows of series too short for a law
};

/// Fits a law for each machine and key. Held out are every fifth number of tokens in turn and, where there are five
/// shapes, every fifth shape. Whether tokens go once to each chip is what leaves less deviation, of dispatch and
/// combine together, for both go the same way. The order of the samples does not matter.
[[nodiscard]] ExchangeFit fit_exchanges(std::vector<ExchangeSample> samples);

/// The law through these of tokens that go `once` to each chip, or once for every choice, by least squares of relative
/// deviations with weights that make squares into absolute values. `samples` must not be empty.
[[nodiscard]] ExchangeLaw fit_exchange_law(const std::vector<const ExchangeSample*>& samples, bool once);

/// Predicts the rows of each machine from its nearest relative, and notes the errors in the laws.
void measure_carried_exchanges(std::vector<Calibration>& calibrations, const std::vector<ExchangeSample>& samples);

}  // namespace roofline::core
