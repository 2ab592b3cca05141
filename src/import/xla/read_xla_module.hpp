// Reads a module of XLA in whatever form a file has it.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/xla/onnx/read_onnx.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Reads HLO text, an HLO proto, StableHLO text, an ONNX model or a graph of PyTorch, packed by gzip or not; the
/// contents say which. `name` stands in messages, `dims` gives sizes to dimensions that an ONNX model only names.
/// Errors: those of the readers; sizes for a module that has all of its own; MLIR bytecode, and other binary files,
/// with what to ask the exporter for.
[[nodiscard]] Result<XlaModule> read_xla_module(std::string contents, const std::string& name,
                                                const DimSizes& dims = {});

}  // namespace roofline::core
