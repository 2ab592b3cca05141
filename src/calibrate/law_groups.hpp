// Groups of the laws of a file of constants: a request needs a few of its laws, and reading all of them takes longer
// than the rest of most answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/kernel/kernel_kinds.hpp"
#include "program/collective_info.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// Which of a machine's laws somebody asks for.
struct LawGroup {
    std::string_view list;  ///< the list of tables that they stand in: "law", "kernel" or "exchange"
    std::string_view key;   ///< what they have in common, a key and its text; "" for all of the list
    std::string text;

    auto operator<=>(const LawGroup&) const = default;

    /// Whether a law of the list is one of them.
    [[nodiscard]] bool holds(TomlNode law) const;
};

[[nodiscard]] LawGroup laws_of(CollectiveKind kind);
[[nodiscard]] LawGroup laws_of_kernels(KernelKind kind);
[[nodiscard]] LawGroup laws_of_exchanges();

/// The group's laws in their order; `file` may be no file.
[[nodiscard]] std::vector<TomlNode> laws_in(TomlNode file, const LawGroup& group);

/// The text of a law's key, "" where there is none.
[[nodiscard]] std::string_view text_in(TomlNode law, std::string_view key);

/// The innermost tier's name; two kinds of fabric have nothing to tell each other.
[[nodiscard]] inline std::string_view innermost(std::string_view tiers) { return tiers.substr(0, tiers.find('+')); }

}  // namespace roofline::core
