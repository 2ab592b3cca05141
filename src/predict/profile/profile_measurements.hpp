// A recorded profile as a table of measurements: for `roofline validate` and `roofline fit`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "import/profile/recorded_profile.hpp"
#include "predict/compare/fit_tables.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/compare/validation.hpp"

namespace roofline::core {

/// Compares the operations of a profile, on its busiest device, with their predictions on `on`. Each operation with the
/// same inputs is one row, however often it ran: calls of a run are no independent measurements, and otherwise those of
/// one shape would outweigh all others. Its time is the median of its executions in the steps that are no warm-up,
/// because single calls are held up; that of a collective is the shortest one, because the others include what it
/// waits for other members. Operations without a bound are skipped, with the reason. The comparison is to be completed
/// by complete(). Errors: `on` does not come in this shape.
[[nodiscard]] Result<Validation> compare_recorded(const RecordedProfile& profile, const SystemOverride& on,
                                                  const std::shared_ptr<Calibrations>& calibrations);

/// Adds the operations of a profile to the samples of tables, with the same times. Reasons of those that nothing can be
/// fitted to are added to `skipped`. Errors: `on` does not come in this shape.
[[nodiscard]] Status collect_recorded(const RecordedProfile& profile, const SystemOverride& on, TableSamples& samples,
                                      Reasons& skipped);

}  // namespace roofline::core
