// What commands about models read alike: the configuration, sizes, dtypes.
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

/// The configuration that a file holds, or that of a model that the program knows by name. Errors: a file that is none;
/// no such name.
[[nodiscard]] Result<Config> resolve_config(const NamedText& reference);

/// What is quantised: as a file of its own says, hf_quant_config.json, or the configuration where the file has no name.
/// None: nothing is. Errors: a file that is no JSON; a method that is not known.
[[nodiscard]] Result<std::optional<Quantisation>> quantisation_beside(const NamedText& file, const Config& config);

/// A dtype, or none for "". `option` stands in the message about a word that is none.
[[nodiscard]] Result<std::optional<Dtype>> dtype_option(const std::string& word, std::string_view option);

/// A positive whole number, or none for "". `option` stands in the message about a word that is none.
[[nodiscard]] Result<std::optional<std::int64_t>> size_option(const std::string& word, std::string_view option);

}  // namespace roofline::core
