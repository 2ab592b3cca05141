// Lowering of the syntax tree to a Program: names, dimensions, dtypes and the meaning of products are resolved here.
#pragma once

#include "base/result.hpp"
#include "notation/ast.hpp"
#include "program/program.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// Lowers a syntax tree. Errors: unknown names or names used twice, dimensions that disagree, a result that does not
/// follow from its expression.
[[nodiscard]] Result<Program> lower(const ast::Block& syntax, const Source& source);

}  // namespace roofline::core
