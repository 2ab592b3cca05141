// The library and the version in the name of a software.
#pragma once

#include <string>
#include <string_view>

namespace roofline::core {

/// A library and its version, in lower case.
struct Software {
    std::string library;
    std::string version;
};

/// Splits "nccl-2.29", "NCCL 2.29.2", "nccl" or "sglang-jax 0.1" where its version begins.
[[nodiscard]] Software split_software_name(std::string_view text);

/// Returns whether `version` is the wanted one or one of its releases: "2.29.2" for "2.29".
[[nodiscard]] bool is_version_prefix(std::string_view version, std::string_view wanted);

}  // namespace roofline::core
