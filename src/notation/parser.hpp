// The parser: tokens to the syntax tree.
#pragma once

#include "base/result.hpp"
#include "notation/ast.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// Parses a text. It reports one error, at one place, with what was expected. Nesting beyond 100 and expressions deeper
/// than 500 are refused.
[[nodiscard]] Result<ast::Block> parse_syntax(const Source& source);

}  // namespace roofline::core
