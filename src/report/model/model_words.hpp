// What the printed forms of a model's account have in common.
#pragma once

#include <string>
#include <vector>

#include "predict/model/model_answer.hpp"
#include "report/plot/shares.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// The parts in the order in which they are shown: the usual six first, whether the model has them or not.
[[nodiscard]] std::vector<std::string> shown_parts(const ModelAnswer& answer);

/// A part's counts; nothing where the model lacks it.
[[nodiscard]] PartCount part_of(const PartCounts& parts, const std::string& part);

/// Numbers of layers as people write them: "0-2, 5, 7-60".
[[nodiscard]] std::string layer_ranges(const std::vector<std::int64_t>& layers);

/// What is said beside the numbers: the model's notes, and the conventions of the counts.
[[nodiscard]] std::vector<std::string> model_notes(const ModelAnswer& answer);

/// "70.6 G": three digits and the letter of the power of 1000.
[[nodiscard]] std::string short_count(const Rational& value);

/// Where parameters and FLOPs go, part by part.
[[nodiscard]] SharesPlot model_picture(const ModelAnswer& answer);

/// A line for each part and the total: for CSV and Markdown.
[[nodiscard]] Table parts_table(const ModelAnswer& answer);

/// A line for each kind of layers.
[[nodiscard]] Table layers_table(const ModelAnswer& answer);

}  // namespace roofline::core
