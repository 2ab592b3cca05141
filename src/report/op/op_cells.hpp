// What the tables of `op` answers are put together from.
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

/// A number to full precision for programs, "" when there is none.
[[nodiscard]] std::string raw(std::optional<double> value);

/// A quantity for people; exactly and without its unit for programs; "" when there is none.
template <class Q>
std::string cell(bool exact, std::optional<double> value) {
    if (!value) return "";
    return exact ? raw(value) : to_text(Q{*value});
}

/// "math", "vector" or a level's label, by the name that all of these machines have for it.
[[nodiscard]] std::string resource_label(std::span<const Prediction> answers, const std::string& id);

/// What `--on` named, for people and for programs: "TPU v5e 4x4" and "tpu-v5e:4x4", without a shape for one chip.
[[nodiscard]] std::string system_name(const Prediction& answer);
[[nodiscard]] std::string system_id(const Prediction& answer);

/// The levels that bytes cross, and the ids of the resources.
[[nodiscard]] std::vector<std::string> levels_of(const Prediction& answer);
[[nodiscard]] std::vector<std::string> resources_of(const Prediction& answer);

/// The ids that any answer has: compute first, then the levels in order of first appearance.
[[nodiscard]] std::vector<std::string> resources_of(const std::vector<Prediction>& answers);

/// Notes below a table; what is said of every machine is said once.
[[nodiscard]] std::string notes_text(const std::vector<Prediction>& answers);

/// What `pick` gives of any answer, in order of first appearance.
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
