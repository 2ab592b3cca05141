// Reads a module of XLA in whatever form a file has it.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Reads HLO text, StableHLO text or a graph of PyTorch, packed by gzip or not; the contents say which. `name` stands
/// in messages. Errors: those of the readers; MLIR bytecode, and other binary files, with what to ask the exporter for.
[[nodiscard]] Result<XlaModule> read_xla_module(std::string contents, const std::string& name);

}  // namespace roofline::core
