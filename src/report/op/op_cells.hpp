// Cells of the tables of `op` answers.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

[[nodiscard]] std::string render(const Table& table, Format format);

/// Returns a number with full precision for programs, "" if there is none.
[[nodiscard]] std::string raw(std::optional<double> value);

/// Returns a quantity with its unit for people, or if `exact` with all digits and without the unit for programs; "" if
/// there is none.
template <class Q>
std::string cell(bool exact, std::optional<double> value) {
    if (!value) return "";
    return exact ? raw(value) : to_text(Q{*value});
}

/// Returns "math", "vector" or the label of a memory level: the machines' own label if they all use the same one,
/// otherwise a generic one.
[[nodiscard]] std::string resource_label(std::span<const Prediction> answers, const std::string& id);

/// Returns the system as `--on` names it, for people ("TPU v5e 4x4") and for programs ("tpu-v5e:4x4"). One chip has no
/// shape.
[[nodiscard]] std::string system_name(const Prediction& answer);
[[nodiscard]] std::string system_id(const Prediction& answer);

/// Return the ids of memory levels and tiers with traffic, and the ids of all resources.
[[nodiscard]] std::vector<std::string> levels_of(const Prediction& answer);
[[nodiscard]] std::vector<std::string> resources_of(const Prediction& answer);

/// Returns the ids of all resources that any answer has: compute first, then levels in the order of their first
/// appearance.
[[nodiscard]] std::vector<std::string> resources_of(const std::vector<Prediction>& answers);

/// Returns the notes below a table. Notes that apply to all machines appear once.
[[nodiscard]] std::string notes_text(const std::vector<Prediction>& answers);

/// Returns the union of what `pick` returns for each answer, in the order of first appearance.
template <class Pick>
std::vector<std::string> all_of(const std::vector<Prediction>& answers, Pick pick) {
    std::vector<std::string> names;
    for (const Prediction& answer : answers) {
        for (const std::string& name : pick(answer)) {
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
    }
    return names;
}

}  // namespace roofline::core
