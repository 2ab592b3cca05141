// Options that all commands about models share: the configuration, sizes, dtypes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/request.hpp"
#include "base/result.hpp"
#include "model/config.hpp"
#include "model/weights.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Returns the configuration in a file, or that of a model that the program knows by name. Errors: the file is not a
/// configuration; the name is unknown.
[[nodiscard]] Result<Config> resolve_config(const NamedText& reference);

/// Returns the quantization of a checkpoint: from its separate file, hf_quant_config.json, or from the configuration if
/// that file has no name. Empty if nothing is quantized. Errors: the file is not JSON; the method is not supported.
[[nodiscard]] Result<std::optional<Quantisation>> quantisation_beside(const NamedText& file, const Config& config);

/// Parses a dtype; empty for "". `option` names the option in error messages.
[[nodiscard]] Result<std::optional<Dtype>> dtype_option(const std::string& word, std::string_view option);

/// Reads --weights: a dtype of all parameters, or a file type of llama.cpp, "Q4_K_M", which is added to the
/// configuration. Empty for "" and for a file type. Errors: neither; those of with_file_type().
[[nodiscard]] Result<std::optional<Dtype>> weights_option(const std::string& word, Config& config);

/// Parses a positive integer; empty for "". `option` names the option in error messages, whose hint is that of sizes if
/// `hint` is empty.
[[nodiscard]] Result<std::optional<std::int64_t>> size_option(const std::string& word, std::string_view option,
                                                              std::string_view hint = {});

}  // namespace roofline::core
