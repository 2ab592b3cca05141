// Matches patterns for the names of a checkpoint's modules, which list what a quantisation ignores.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

/// Returns whether `pattern` matches the module `name` ("model.layers.3.mlp.up_proj") or one that contains it. A
/// pattern is a name, or a part of one between dots ("lm_head"); may contain stars ("model.layers.0*"); or is, after
/// `re:`, a regular expression of letters, `.`, `*`, `+`, `\.`, (a|b), `^` and `$` that is matched from the beginning
/// of the name. The prefix `language_model.` of multimodal models is ignored. Errors: an expression that uses anything
/// else.
[[nodiscard]] Result<bool> means_module(std::string_view pattern, std::string_view name);

}  // namespace roofline::core
