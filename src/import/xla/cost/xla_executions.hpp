// How often the instructions of a module run, and what of it people ask for: products, collectives, custom calls.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/xla/cost/xla_cost.hpp"

namespace roofline::core {

struct XlaCollectiveCount {
    double executed = 0;
    double output_bytes = 0;  ///< of all executions
};

struct XlaExecutions {
    /// How often each computation runs as a sequence of instructions. Functions that a reduction or a sort applies to
    /// elements do not count; a branch of a conditional counts as one part in the number of branches, the mean, because
    /// a module does not tell which one is taken.
    std::vector<double> computations;
    /// Of dot, ragged-dot and convolution; of custom calls that are one of these, where the analysis prices them.
    double product_flops = 0;
    std::map<std::string, XlaCollectiveCount, std::less<>> collectives;  ///< by kind, "all-gather"
    std::map<std::string, double, std::less<>> custom_calls;             ///< by target
};

/// Counts executions of a module whose cost was found; loops as their trip counts say, or once each with
/// `multiply_loops` off. Loops of unknown count run once.
[[nodiscard]] XlaExecutions xla_executions(const XlaModule& module, const XlaModuleCost& cost, bool multiply_loops);

/// Returns the kind of a collective without `-start`: "all-gather" for "all-gather-start"; empty for anything else,
/// also for the second half of an asynchronous collective.
[[nodiscard]] std::string_view collective_kind(std::string_view opcode);

/// The operations of one execution of an instruction that are matrix products or convolutions, without what it calls.
[[nodiscard]] double product_flops_of(const XlaComputation& computation, const XlaInstruction& at, const XlaCost& cost);

}  // namespace roofline::core
