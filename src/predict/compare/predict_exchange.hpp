// What is predicted for a measured exchange with experts, and what of it a fit takes.
#pragma once

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/exchange/fit_exchanges.hpp"
#include "network/measured_exchange.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"

namespace roofline::core {

/// The all-to-all that the row is one of. Errors: those of MeasuredSystems::group(); fewer than two chips.
[[nodiscard]] Result<MeasuredGroup> group_of(const MeasuredExchange& row, MeasuredSystems& systems);

/// The row beside its bound, of one copy of each token, and the expected time by laws of the software and kernels that
/// it names. Experts are chosen at random, all alike likely.
[[nodiscard]] Comparison compare(const MeasuredExchange& row, const MeasuredGroup& group, Calibrations& calibrations);

/// The row as a fit takes it. Empty where a tier has no published rate.
[[nodiscard]] std::optional<ExchangeSample> sample_of(const MeasuredExchange& row, const MeasuredGroup& group);

}  // namespace roofline::core
