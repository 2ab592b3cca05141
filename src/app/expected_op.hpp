// Expected times of a program's collectives.
#pragma once

#include <memory>
#include <string>

#include "app/request.hpp"
#include "report/op/op_answer.hpp"

namespace roofline {

/// The constants that a request means. Errors: a file that is no calibration, with line and column.
[[nodiscard]] Result<Calibrations> resolve_calibrations(const CalibrationRef& reference);

/// Fills in what is expected of each collective of an analysed answer, and of a program that does nothing else, in total.
/// `software` is what --software names, "" for the newest library. Errors: a library that no table has measured; one named
/// for a program that does not communicate.
[[nodiscard]] Status expect(OpAnswer& answer, const std::string& software, std::shared_ptr<Calibrations> calibrations);

}  // namespace roofline
