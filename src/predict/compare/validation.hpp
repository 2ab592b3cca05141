// Validation of predictions against a table of measurements: its rows and the errors.
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
#include "predict/compare/serving_frontier.hpp"

namespace roofline::core {

/// Rows of a table that are not compared, or that have no expected time, with the reason.
struct SkippedRows {
    std::string reason;
    std::size_t rows = 0;
    int first_line = 0;  ///< 0: the rows are of no text
};

/// The comparison of a table with its predictions.
struct Validation {
    std::string table;  ///< name of the file
    std::string kind;   ///< kind of its rows: "collective"
    std::vector<Comparison> rows;
    std::vector<SkippedRows> skipped;       ///< the most frequent first
    std::vector<SkippedRows> not_expected;  ///< compared rows without an expected time, the most frequent first
    ErrorSummary summary;
    ServingFrontiers frontiers;       ///< of served models
    std::optional<double> max_error;  ///< largest accepted mean error, if given
    std::vector<std::string> notes;
    std::vector<std::pair<std::string, Rate>> rates;  ///< rates that the bounds use, each with its machine

    [[nodiscard]] std::size_t skipped_rows() const {
        std::size_t rows_left_out = 0;
        for (const SkippedRows& each : skipped) rows_left_out += each.rows;
        return rows_left_out;
    }
    [[nodiscard]] bool beyond_max_error() const { return max_error && summary.error.mean > *max_error; }
    /// Returns whether nothing could be compared, a row is below its bound, or the mean error exceeds `max_error`.
    [[nodiscard]] bool failed() const { return rows.empty() || summary.below_lower > 0 || beyond_max_error(); }
};

/// A table of measurements, and what it is predicted with.
struct ValidateQuestion {
    std::string table;                   ///< contents of a CSV file, or output of nccl-tests
    std::string table_name;              ///< for messages and headings
    std::optional<SystemOverride> on{};  ///< machine of all rows, which overrides what the table says
    Calibrations calibrations;
    NcclHints hints{};    ///< what the output of nccl-tests does not contain
    bool strict = false;  ///< reject a table with a cell that is not a number, instead of skipping its row
    std::optional<double> max_error{};  ///< see Validation::max_error
};

/// Compares every row of the table with its prediction. Errors: the columns of the table match no known kind; the text
/// is not a table, with line and column.
[[nodiscard]] Result<Validation> validate(const ValidateQuestion& question);

/// Adds the errors of a validation's rows, their groups and notes.
void complete(Validation& validation);

}  // namespace roofline::core
