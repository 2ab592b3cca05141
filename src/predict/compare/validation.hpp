// A table of measurements beside predictions: its rows, and their errors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "bound/pricing.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "import/nccl_tests.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/error_summary.hpp"
#include "predict/compare/measured_systems.hpp"

namespace roofline::core {

/// Rows of a table that are not compared, and why.
struct SkippedRows {
    std::string reason;
    std::size_t rows = 0;
    int first_line = 0;
};

struct Validation {
    std::string table;  ///< the file's name
    std::string kind;   ///< what its rows are: "collective"
    std::vector<Comparison> rows;
    std::vector<SkippedRows> skipped;  ///< the most frequent first
    ErrorSummary summary;
    std::optional<double> max_error;  ///< asked for: the mean may not be beyond it
    std::vector<std::string> notes;
    std::vector<std::pair<std::string, Rate>> rates;  ///< that the bounds rest on, with the system that each belongs to

    [[nodiscard]] std::size_t skipped_rows() const {
        std::size_t rows_left_out = 0;
        for (const SkippedRows& each : skipped) rows_left_out += each.rows;
        return rows_left_out;
    }
    [[nodiscard]] bool beyond_max_error() const { return max_error && summary.error.mean > *max_error; }
    /// Nothing could be compared, a row is below its bound, or the mean error is beyond what was asked for.
    [[nodiscard]] bool failed() const { return rows.empty() || summary.below_lower > 0 || beyond_max_error(); }
};

/// A table, and by what it is predicted.
struct ValidateQuestion {
    std::string table;               ///< the contents of a CSV file, or what nccl-tests printed
    std::string table_name;          ///< for messages and headings
    std::optional<MeasuredOn> on{};  ///< what every row is taken to be measured on, whatever the table says
    Calibrations calibrations;
    NcclHints hints{};                  ///< what nccl-tests do not say of themselves
    bool strict = false;                ///< a cell that is no number costs the table, not its row
    std::optional<double> max_error{};  ///< Validation::max_error
};

/// Every row of the table beside its prediction. Errors: a table whose columns are those of no kind that is known; text
/// that is no table, with line and column.
[[nodiscard]] Result<Validation> validate(const ValidateQuestion& question);

}  // namespace roofline::core
