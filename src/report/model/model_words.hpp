// Functions that several printed forms of a model's parameter count share.
#pragma once

#include <string>
#include <vector>

#include "predict/model/model_answer.hpp"
#include "report/plot/shares.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// Returns the parts in the order of printing: the six standard ones first, even if the model lacks some of them.
[[nodiscard]] std::vector<std::string> shown_parts(const ModelAnswer& answer);

/// Returns the counts of a part, zero if the model lacks it.
[[nodiscard]] PartCount part_of(const PartCounts& parts, const std::string& part);

/// Returns layer indices as ranges: "0-2, 5, 7-60".
[[nodiscard]] std::string layer_ranges(const std::vector<std::int64_t>& layers);

/// Returns the model's notes and the counting conventions.
[[nodiscard]] std::vector<std::string> model_notes(const ModelAnswer& answer);

/// Returns "70.6 G": three significant digits and an SI prefix.
[[nodiscard]] std::string short_count(const Rational& value);

/// Returns a chart of the parameters and FLOPs of each part.
[[nodiscard]] SharesPlot model_picture(const ModelAnswer& answer);

/// Returns a table with one row per part and a total, for CSV and Markdown.
[[nodiscard]] Table parts_table(const ModelAnswer& answer);

/// Returns a table with one row per kind of layer.
[[nodiscard]] Table layers_table(const ModelAnswer& answer);

}  // namespace roofline::core
