// Prediction of a measured expert dispatch or combine, and its conversion to a sample for the fit.
#pragma once

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/exchange/fit_exchanges.hpp"
#include "network/measured_exchange.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"

namespace roofline::core {

/// Returns the all-to-all that corresponds to the row. Errors: those of MeasuredSystems::group(); fewer than two chips.
[[nodiscard]] Result<MeasuredGroup> group_of(const MeasuredExchange& row, MeasuredSystems& systems);

/// Returns the row with its predictions: the lower bound, for one copy of each token, and the expected time by the
/// models of the software and variant that the row names. Experts are chosen uniformly at random.
[[nodiscard]] Comparison compare(const MeasuredExchange& row, const MeasuredGroup& group, Calibrations& calibrations);

/// Returns the row as the fit takes it. Empty if a tier has no published rate.
[[nodiscard]] std::optional<ExchangeSample> sample_of(const MeasuredExchange& row, const MeasuredGroup& group);

}  // namespace roofline::core
