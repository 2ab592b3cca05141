// Laws fitted to tables of timed collectives, with the errors they show on rows that were held out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/calibration.hpp"
#include "calibrate/fit/fit_curve.hpp"

namespace roofline::core {

/// A measured row, priced.
struct CollectiveSample {
    std::string machine;  ///< of the catalogue
    LawKey key;
    LawLink link;
    TimedPoint timed;
    double lower_s = 0;
    std::string source;
};

struct CollectiveFit {
    std::vector<Calibration> calibrations;  ///< by machine; of the laws' errors all but those of relatives
    std::int64_t rows = 0;                  ///< that laws were fitted to
    std::int64_t duplicates = 0;            ///< the same measurement, published twice
    std::int64_t left_out = 0;  ///< more than 30 times off their neighbours in size, or faster than the wires
    std::int64_t too_few = 0;   ///< rows of series too short for a law
};

/// Fits a law for each machine and key. Held out are every fifth size in turn, and each number of members in turn (the
/// first 16 of them). The order of the samples does not matter. Of a series of more than 4096 rows so many are taken,
/// spread evenly. More than a thousand laws get no errors of relatives.
[[nodiscard]] CollectiveFit fit_collectives(std::vector<CollectiveSample> samples);

/// One law through these, without errors. `custom` kernels send whole buffers, libraries do not.
[[nodiscard]] CollectiveLaw fit_law(const std::vector<TimedPoint>& points, CollectiveKind kind, bool custom);

/// Predicts the rows of each machine's newest laws from other machines, and notes the errors in the laws.
void add_errors_of_relatives(std::vector<Calibration>& calibrations, const std::vector<CollectiveSample>& samples);

}  // namespace roofline::core
