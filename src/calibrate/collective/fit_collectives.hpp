// Fit of collective models to tables of timed collectives, with held-out errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/calibration.hpp"
#include "calibrate/fit/fit_curve.hpp"

namespace roofline::core {

/// A measurement with its lower bound.
struct CollectiveSample {
    std::string machine;  ///< id of the catalogue
    CollectiveKey key;
    CollectiveLink link;
    TimedPoint timed;
    double lower_s = 0;
    std::string source;
    std::string inner_tiers{};  ///< of the machine inside those of the group, as in CollectiveRequest
};

/// The fitted collective models, and how the measurements were used.
struct CollectiveFit {
    std::vector<Calibration> calibrations;  ///< by machine; all errors are set except those of transferred models
    std::int64_t rows = 0;                  ///< number of measurements that models were fitted to
    std::int64_t duplicates = 0;            ///< measurements that were published twice
    /// Measurements that deviate from those of similar size by more than a factor of 30, or are faster than the links.
    std::int64_t left_out = 0;
    std::int64_t too_few = 0;  ///< measurements of series that are too short for a model
};

/// Fits a model per machine and key. The held-out errors leave out one fifth of the sizes at a time, and each of the
/// first 16 numbers of members at a time. The order of the samples does not matter. Of a series of more than 4096
/// measurements, 4096 are used, spread evenly. If there are more than a thousand models, errors of transferred models
/// are not computed. A series needs eight measurements, on a torus five. Machines with fewer on a torus share a model
/// that is fitted to those of all machines, if these are at least two and have at least four measurements; its held-out
/// errors leave out a machine at a time.
[[nodiscard]] CollectiveFit fit_collectives(std::vector<CollectiveSample> samples);

/// Fits one model to the points, without errors. `custom` kernels send whole buffers, libraries do not.
[[nodiscard]] CollectiveModel fit_model(const std::vector<TimedPoint>& points, CollectiveKind kind, bool custom);

/// Predicts the measurements of each machine's newest models from other machines, and those of other networks between
/// nodes and of other tori from each model, and stores the errors in the models.
void add_transfer_errors(std::vector<Calibration>& calibrations, const std::vector<CollectiveSample>& samples);

}  // namespace roofline::core
