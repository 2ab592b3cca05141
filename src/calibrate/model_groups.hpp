// Groups of models in a calibration file. A request needs only a few of its models, and reading all of them would take
// longer than the rest of most answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/kernel/kernel_kinds.hpp"
#include "program/collective_info.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// A subset of a machine's models.
struct ModelGroup {
    std::string_view list;  ///< the list of tables that contains them: "law" (collectives), "kernel" or "exchange"
    std::string_view key;   ///< key whose value `text` they share; "" for the whole list
    std::string text;

    auto operator<=>(const ModelGroup&) const = default;

    /// Returns whether a model of the list belongs to the group.
    [[nodiscard]] bool holds(TomlNode model) const;
};

/// Returns the group of the models of one collective.
[[nodiscard]] ModelGroup models_of(CollectiveKind kind);
/// Returns the group of the models of one kind of kernels.
[[nodiscard]] ModelGroup models_of_kernels(KernelKind kind);
/// Returns the group of all exchange models.
[[nodiscard]] ModelGroup models_of_exchanges();

/// Returns the models of the group in the order of the file, which may be empty.
[[nodiscard]] std::vector<TomlNode> models_in(TomlNode file, const ModelGroup& group);

/// Returns the text of a key of a model, "" if it is absent.
[[nodiscard]] std::string_view text_in(TomlNode model, std::string_view key);

/// Returns the name of the innermost tier. Measurements of one kind of fabric do not transfer to another.
[[nodiscard]] inline std::string_view innermost(std::string_view tiers) { return tiers.substr(0, tiers.find('+')); }

}  // namespace roofline::core
