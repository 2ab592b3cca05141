// What single operations of XLA cost: the rules of HloCostAnalysis, with those of GpuHloCostAnalysis where they differ.
#pragma once

#include <string_view>

#include "import/xla/cost/xla_cost_scope.hpp"

namespace roofline::core {

/// Whether each element of the result comes from the same element of the operands.
[[nodiscard]] bool is_elementwise(std::string_view opcode);

/// Whether a transposition leaves the order of elements in memory as it is.
[[nodiscard]] bool transposes_nothing(const XlaShape& from, const XlaShape& to, const std::vector<std::int64_t>& dims);

/// Returns the cost of an operation that is no fusion, calls no computation as a whole (while, call, conditional,
/// async-start), and is no collective of the analysis for GPUs. `seconds` is left for the caller.
[[nodiscard]] Result<XlaCost> instruction_cost(const XlaCostScope& scope, const XlaInstruction& at);

/// The rules of gather and scatter, which custom fusions share.
[[nodiscard]] Status count_gather(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost);
[[nodiscard]] Status count_scatter(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost);

}  // namespace roofline::core
