// The syntax tree to a Program: names, dimensions, dtypes and the meaning of products are settled here.
#pragma once

#include "base/result.hpp"
#include "notation/ast.hpp"
#include "notation/source.hpp"
#include "program/program.hpp"

namespace roofline {

/// Errors: unknown or doubly used names, dimensions that disagree, a result that does not follow from its expression.
[[nodiscard]] Result<Program> lower(const ast::Block& syntax, const Source& source);

}  // namespace roofline
