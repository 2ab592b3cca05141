// The rules of GpuHloCostAnalysis that differ from those of HloCostAnalysis, and what XProf makes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "import/xla/cost/xla_cost_scope.hpp"

namespace roofline::core {

/// Whether each element of the result comes from the same element of the operands: an elementwise operation, or a
/// fusion of nothing else.
[[nodiscard]] bool is_elementwise_instruction(const XlaModuleCost& done, const XlaInstruction& at);

/// Operations of an elementwise operation: the profile's number for each element, or the default.
[[nodiscard]] double elementwise_flops(const XlaCostScope& scope, std::string_view opcode, const XlaShape& shape);

/// A concatenation compares and branches: 6 operations per element, or 400 where the pieces may divide a warp.
[[nodiscard]] Status count_concatenate_on_gpu(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost);

/// Returns the cost of a collective in rings of the ranks of its largest group; nothing for any other operation.
[[nodiscard]] Result<std::optional<XlaCost>> ring_cost(const XlaCostScope& scope, const XlaInstruction& at);

/// Returns the ranks of the largest group of a collective.
[[nodiscard]] Result<std::int64_t> largest_group(const XlaModule& module, const XlaInstruction& at);

/// Follows which parts of which values a fusion uses, from its root to its parameters. `inside` is the fusion's
/// computation with the costs of its instructions, `in_place` the updates of slices whose operand is the result. Error:
/// so many elementwise users that following them takes too much memory.
[[nodiscard]] Status propagate_utilization(const XlaCostScope& inside, const XlaInstruction& fusion,
                                           const std::vector<XlaCost>& costs, const std::set<std::uint32_t>& in_place,
                                           XlaElementwiseUse& use);

/// Returns the bytes of `operand` that `producer` and `consumer` read together when the first is fused into the second,
/// as GpuPerformanceModelBase counts them: indices of instructions of one computation, whose module was analysed for
/// GPUs.
[[nodiscard]] double shared_operand_bytes(const XlaModule& module, const XlaModuleCost& cost, std::uint32_t computation,
                                          std::uint32_t producer, std::uint32_t consumer, std::uint32_t operand);

/// Returns how many of the operations XProf takes off to compare 8-bit and 4-bit arithmetic with the rate of 16 bits: a
/// half, or three quarters. Other custom calls than matrix products are left alone.
[[nodiscard]] double device_flops_adjustment(const XlaComputation& computation, const XlaInstruction& at,
                                             const XlaCost& cost);

}  // namespace roofline::core
