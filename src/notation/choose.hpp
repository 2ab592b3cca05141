// Options of a program, and repeats whose iterations differ: choices that are made before names and dimensions are
// resolved.
#pragma once

#include "base/result.hpp"
#include "notation/ast.hpp"
#include "notation/notation.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// Returns the syntax tree without `option`, `when` and `part`: what is not chosen is removed, and every statement
/// knows its part. Repeats of several kinds are expanded, one block per kind. Errors: an option that is not declared,
/// or declared twice; a repeat that does not exist, or has no iterations.
[[nodiscard]] Result<ast::Block> choose(ast::Block syntax, const Source& source, const Choices& choices);

}  // namespace roofline::core
