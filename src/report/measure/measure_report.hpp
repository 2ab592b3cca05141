// What a measurement found, as tables: one form for processors, networks and accelerators.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/format.hpp"

namespace roofline::core {

/// A cell as a person reads it, and its number in SI base units.
struct MeasuredCell {
    std::string text;
    double number = 0;
    enum class Kind : unsigned char { text, number, none } kind = Kind::none;
};

[[nodiscard]] MeasuredCell measured_text(std::string text);
[[nodiscard]] MeasuredCell measured_number(std::string text, double number);

struct MeasuredColumn {
    std::string key;   ///< of JSON and CSV, with its unit: "read_bytes_per_s"
    std::string head;  ///< over the column
};

struct MeasuredTable {
    std::string key;    ///< of JSON: "peaks"
    std::string title;  ///< "Peaks, GFLOP/s"
    std::vector<MeasuredColumn> columns;
    std::vector<std::vector<MeasuredCell>> rows;  ///< as long as `columns`
    std::vector<std::string> remarks{};           ///< below it, in the text form
    bool detail = false;                          ///< too much for a screen: in the other forms only
};

struct MeasureReport {
    std::string title;    ///< "AMD EPYC, 2 cores"
    std::string machine;  ///< its id
    std::string date;
    std::string method;  ///< what was done, with its version
    std::vector<MeasuredTable> tables;
    std::vector<std::string> warnings;  ///< what makes figures doubtful; they come first
    std::vector<std::string> notes;
    std::string file;  ///< the machine file that was written; "" for none
    std::string next;  ///< what to do with it
};

/// Text, JSON, CSV (a table of table, row, column, value), or Markdown.
[[nodiscard]] std::string measure_report(const MeasureReport& report, Format format, bool color);

}  // namespace roofline::core
