// Results of a measurement as tables; processors, networks and accelerators share this form.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/format.hpp"

namespace roofline::core {

/// A cell: its text for people, and its number in SI base units.
struct MeasuredCell {
    std::string text;
    double number = 0;
    enum class Kind : unsigned char { text, number, none } kind = Kind::none;
};

[[nodiscard]] MeasuredCell measured_text(std::string text);
[[nodiscard]] MeasuredCell measured_number(std::string text, double number);

struct MeasuredColumn {
    std::string key;   ///< key in JSON and CSV, including the unit: "read_bytes_per_s"
    std::string head;  ///< heading of the column
};

struct MeasuredTable {
    std::string key;    ///< key in JSON: "peaks"
    std::string title;  ///< "Peaks, GFLOP/s"
    std::vector<MeasuredColumn> columns;
    std::vector<std::vector<MeasuredCell>> rows;  ///< each as long as `columns`
    std::vector<std::string> remarks{};           ///< printed below the table, in text only
    bool detail = false;                          ///< too long for a screen: omitted in text
};

struct MeasureReport {
    std::string title;    ///< "AMD EPYC, 2 cores"
    std::string machine;  ///< its id
    std::string date;
    std::string method;  ///< the measurement method with its version
    std::vector<MeasuredTable> tables;
    std::vector<std::string> warnings;  ///< reasons to doubt the values; printed first
    std::vector<std::string> notes;
    std::string file;  ///< the machine file that was written; "" if none was
    std::string next;  ///< suggested next command
};

/// Returns the report as text, JSON, CSV (with columns table, row, column, value) or Markdown.
[[nodiscard]] std::string measure_report(const MeasureReport& report, Format format, bool color);

}  // namespace roofline::core
