// Fit of exchange models to tables of timed expert dispatch and combine, with held-out errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/calibration.hpp"

namespace roofline::core {

/// A measurement with its lower bound.
struct ExchangeSample {
    std::string machine;  ///< id of the catalogue
    ExchangeKey key;
    CollectiveLink link;
    ExchangePoint point;
    double choices = 1;  ///< experts per token; together with experts and row_s it forms the shape that is held out
    double time_s = 0;
    double lower_s = 0;
    std::string source;
};

/// The fitted exchange models, and how the measurements were used.
struct ExchangeFit {
    std::vector<Calibration> calibrations;  ///< by machine; all errors are set except those of transferred models
    std::int64_t rows = 0;                  ///< number of measurements that models were fitted to
    std::int64_t duplicates = 0;
    /// Measurements that deviate from the model of the others by more than a factor of 30, or are faster than half of
    /// their bound.
    std::int64_t left_out = 0;
    std::int64_t too_few = 0;  ///< measurements of series that are too short for a model
};

/// Fits a model per machine and key. The held-out errors leave out one fifth of the numbers of tokens at a time and, if
/// there are at least five shapes, one fifth of the shapes. Whether tokens are sent once to each chip is decided by the
/// smaller deviation of dispatch and combine together, because both do the same. The order of the samples does not
/// matter.
[[nodiscard]] ExchangeFit fit_exchanges(std::vector<ExchangeSample> samples);

/// Fits a model in which tokens are sent `once` to each chip, or once for each choice. It minimizes absolute relative
/// deviations by iteratively reweighted least squares. `samples` must not be empty.
[[nodiscard]] ExchangeModel fit_exchange_model(const std::vector<const ExchangeSample*>& samples, bool once);

/// Predicts the measurements of each machine from the nearest calibrated machine, and stores the errors in the models.
void measure_exchange_transfer_errors(std::vector<Calibration>& calibrations,
                                      const std::vector<ExchangeSample>& samples);

}  // namespace roofline::core
