// What a module of XLA costs, counted as XLA's own analyses count it: floating-point operations, transcendental
// operations, bytes. The rules are those of HloCostAnalysis and GpuHloCostAnalysis (openxla/xla, xla/service), so that
// their tests can be ours; where those are known to be wrong, these are wrong, too, unless an option puts them right.
// Counts are doubles: exact up to 2^53, and a count that is not finite is an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

enum class XlaAnalysis : std::uint8_t {
    generic,  ///< HloCostAnalysis: a fused computation runs once, and a read of an operand counts once
    gpu,      ///< GpuHloCostAnalysis: what a fusion computes again counts again; collectives by rings
};

/// How fast something is counted off, for XlaCost::seconds.
struct XlaRate {
    double per_second = 0;     ///< 0: plays no part
    double least_seconds = 0;  ///< of an instruction that has any of it
};

struct XlaCostOptions {
    XlaAnalysis analysis = XlaAnalysis::generic;
    /// Broadcasts, windows and repeated uses read their operand as often as they use it.
    bool count_multiple_input_accesses = false;
    /// Loops count as often as they run; XLA counts one iteration.
    bool multiply_loops = false;
    /// Trip counts by the name of the `while`; they count before what a loop tells of itself.
    std::map<std::string, std::int64_t, std::less<>> trip_counts;
    /// Custom calls of known kinds (matrix products, convolutions, kernels that state their cost) have their cost in
    /// the generic analysis, too; in that for GPUs they always do.
    bool price_custom_calls = false;
    /// What a custom call of unknown cost is entered with: XLA's mark is -1, which its totals add up; 0 leaves it out.
    double unknown = -1;
    /// A ragged product counts its whole result. XLA drops the first dimension of the result for each group dimension.
    bool whole_ragged_dots = false;
    double elementwise_flops = 3;  ///< per element, for GPUs
    /// The same for an operation and an element type, such as "clamp:f32".
    std::map<std::string, double, std::less<>> flops_per_element;
    XlaRate flops;
    XlaRate transcendentals;
    XlaRate bytes;
};

struct XlaOperandCost {
    double bytes = 0;
    float utilization = 1;  ///< how often each element of the operand is used; XLA keeps it in this precision
};

struct XlaCost {
    double flops = 0;
    double transcendentals = 0;
    double bytes = 0;  ///< read and written
    double output_bytes = 0;
    double seconds = 0;            ///< the longest of its rates, where rates are given
    double bytes_transferred = 0;  ///< by a collective, for GPUs
    double ranks = 0;              ///< devices of a collective's group, for GPUs
    bool known = true;             ///< false for a custom call of unknown cost
    std::vector<XlaOperandCost> operands;
};

/// Which instructions read a value element by element, for the analysis of GPUs: those at the far end of a chain of
/// elementwise operations.
struct XlaElementwiseUse {
    std::vector<std::vector<std::uint32_t>> roots;  ///< by instruction, in order
    std::vector<float> root_utilization;            ///< by instruction
    std::vector<float> utilization;                 ///< by instruction
};

/// A computation that fusions call.
struct XlaFusedComputation {
    std::vector<std::vector<std::uint32_t>> users;  ///< by instruction, each user once
    std::vector<std::uint32_t> parameters;          ///< by number
    std::vector<double> parameter_reads;            ///< bytes that the generic analysis reads, by number
    bool elementwise = false;                       ///< nothing in it but elementwise operations
    XlaElementwiseUse use;
};

struct XlaLoop {
    std::uint32_t computation = 0;
    std::uint32_t instruction = 0;
    std::optional<std::int64_t> trip_count;  ///< nothing where neither the loop nor the user tells
};

struct XlaModuleCost {
    std::vector<std::vector<XlaCost>> instructions;  ///< by computation; empty for those that the entry never reaches
    std::vector<XlaCost> computations;               ///< sums, one run each
    std::unordered_map<std::uint32_t, XlaFusedComputation> fused;
    std::vector<XlaLoop> loops;  ///< callees before callers

    /// Sums of the entry.
    XlaCost total;
};

/// Counts a module. Errors, with the name of the instruction: operands or computations that its operation needs and it
/// lacks, attributes that do not fit its shapes, counts beyond the range of a double.
[[nodiscard]] Result<XlaModuleCost> xla_cost(const XlaModule& module, const XlaCostOptions& options);

}  // namespace roofline::core
