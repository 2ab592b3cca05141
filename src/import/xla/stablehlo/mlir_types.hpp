// Types of MLIR as shapes of XLA: `tensor<8x128xbf16>`, `tuple<...>`, tokens.
#pragma once

#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "import/xla/stablehlo/mlir_scanner.hpp"
#include "import/xla/xla_shape.hpp"

namespace roofline::core {

/// Reads types, and remembers those that it has read.
class MlirTypes {
public:
    /// Takes a type. A bounded dimension has its bound; a quantised element has its storage type; an `index` counts as
    /// s64; a type of another dialect becomes `opaque`. Errors, with their place: a dimension without a bound, a tensor
    /// without a rank, no type, a size or a product of sizes that cannot be counted, tuples nested deeper than 64
    /// levels.
    [[nodiscard]] Result<XlaShape> take(MlirScanner& scanner);

private:
    std::unordered_map<std::string_view, XlaShape> known_;  ///< by what stands in the brackets of `tensor<...>`
};

}  // namespace roofline::core
