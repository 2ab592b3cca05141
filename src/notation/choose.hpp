// Options of a program, and repeats whose copies are not all alike: what is decided before names and dimensions mean anything.
#pragma once

#include "base/result.hpp"
#include "notation/ast.hpp"
#include "notation/notation.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// The syntax tree without `option`, `when` and `part`: what is not chosen is gone, and every statement knows its part. Repeats
/// of several kinds are written out, one block a kind. Errors: an option that is not declared, or twice; a repeat that does not
/// exist, or of no copies at all.
[[nodiscard]] Result<ast::Block> choose(ast::Block syntax, const Source& source, const Choices& choices);

}  // namespace roofline::core
