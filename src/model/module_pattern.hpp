// Patterns over the names of a checkpoint's modules, as the lists of what a quantisation leaves out have them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

/// Whether `pattern` means the module `name` ("model.layers.3.mlp.up_proj") or one that holds it. A pattern is a name, or a part of
/// one between dots ("lm_head"); with stars ("model.layers.0*"); or behind `re:` a regular expression of letters, `.`, `*`, `+`,
/// `\.`, (a|b), `^` and `$`, that begins where the name does. The `language_model.` of larger models is not looked at.
/// Errors: an expression that uses more than that.
[[nodiscard]] Result<bool> means_module(std::string_view pattern, std::string_view name);

}  // namespace roofline::core
