// The part of a module's asynchronous work that overlaps with its kernels.
#pragma once

#include <vector>

#include "import/xla/lower/lower_module.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// Returns for each kernel the seconds of its executions that other kernels hide; 0 for what is not asynchronous.
/// `seconds` are those of all executions of each kernel, `work` was derived from `program`.
///
/// Kernels run one after another in the order of the module, collectives beside them on the links and copies from and
/// to the host beside both, each of the three one at a time. A start waits for nothing, its done for its end; anything
/// that is not asynchronous takes its place among the kernels. Iterations of a loop do not overlap, and a loop with
/// collectives of its own waits for those before it.
[[nodiscard]] std::vector<double> hidden_seconds(const Program& program, const std::vector<ImportedAsync>& started,
                                                 const ProgramWork& work, const std::vector<double>& seconds);

}  // namespace roofline::core
