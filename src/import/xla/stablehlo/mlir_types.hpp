// Types of MLIR as shapes of XLA: `tensor<8x128xbf16>`, `tuple<...>`, tokens.
#pragma once

#include "base/result.hpp"
#include "import/xla/stablehlo/mlir_scanner.hpp"
#include "import/xla/xla_shape.hpp"

namespace roofline::core {

/// Takes a type. A bounded dimension has its bound; a quantised element has its storage type; an `index` counts as s64;
/// a type of another dialect becomes `opaque`. Errors, with their place: a dimension without a bound, a tensor without
/// a rank, no type, a size or a product of sizes that cannot be counted, tuples nested deeper than 64 levels.
[[nodiscard]] Result<XlaShape> take_mlir_type(MlirScanner& scanner);

}  // namespace roofline::core
