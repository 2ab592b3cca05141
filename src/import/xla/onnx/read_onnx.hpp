// Reads ONNX models as modules of HLO.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Sizes of dimensions by name.
using DimSizes = std::map<std::string, std::int64_t, std::less<>>;

/// Reads a ModelProto. Every node becomes instructions of HLO with the shapes that follow from those of the inputs;
/// `sizes` gives those that the model only names, such as `batch`, and a dimension without a name is `INPUT.AXIS`.
/// Initializers become parameters, If a conditional, Loop a while, a call of a function of the model its nodes. An
/// operator that is not known becomes a custom call with the shape that the file gives for its result. `name` stands in
/// messages. Errors, with the byte of the node: bytes that are no model, dimensions without a size (all are named),
/// sizes for dimensions that the model does not have, values that are not defined or defined twice, shapes that do not
/// fit together, that contradict what the file says of them, that cannot be counted, or that depend on values.
[[nodiscard]] Result<XlaModule> read_onnx(std::string bytes, const std::string& name, const DimSizes& sizes);

}  // namespace roofline::core
