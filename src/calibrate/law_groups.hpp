// A file of constants, taken apart without being read: a request needs a few of its laws, and reading all of them takes longer
// than the rest of most answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/kernel/kernel_kinds.hpp"
#include "program/collective_info.hpp"

namespace roofline::core {

/// Which of a machine's laws somebody asks for.
struct LawGroup {
    std::string opening;  ///< the lines that calibration_text() begins each of them with

    auto operator<=>(const LawGroup&) const = default;
};

[[nodiscard]] LawGroup laws_of(CollectiveKind kind);
[[nodiscard]] LawGroup laws_of_kernels(KernelKind kind);
[[nodiscard]] LawGroup laws_of_exchanges();

/// A file as calibration_text() writes it; the views are of the text given, which must outlive it.
class LawTexts {
public:
    explicit LawTexts(std::string_view file);

    /// The group's laws, in their order.
    [[nodiscard]] std::vector<std::string_view> of(const LawGroup& group) const;
    /// What the file says before them, and these laws: a file of its own.
    [[nodiscard]] std::string file_of(const std::vector<std::string_view>& laws) const;

private:
    std::string_view head_;
    std::vector<std::string_view> laws_;
};

/// The text of a key that stands on a line of its own, as in `tiers = "nvlink+ib"`; "" where there is none.
[[nodiscard]] std::string_view text_in(std::string_view law, std::string_view key);

/// The innermost tier's name; two kinds of fabric have nothing to tell each other.
[[nodiscard]] inline std::string_view innermost(std::string_view tiers) { return tiers.substr(0, tiers.find('+')); }

}  // namespace roofline::core
