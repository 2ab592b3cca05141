// What `roofline validate` answers, ready to be printed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bound/pricing.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/error_summary.hpp"
#include "report/format.hpp"

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

/// Text: the errors, by system, operation, size and number of devices, and the worst rows. Markdown: the same tables. CSV: a line
/// for each row, predicted beside measured. JSON: docs/json.md.
[[nodiscard]] std::string validation_text(const Validation& validation);
[[nodiscard]] std::string validation_markdown(const Validation& validation);
[[nodiscard]] std::string validation_csv(const Validation& validation);
[[nodiscard]] std::string validation_json(const Validation& validation);

/// Predicted against measured time, as SVG.
[[nodiscard]] std::string validation_plot(const Validation& validation);

}  // namespace roofline::core
