// The program of a module of XLA.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "import/xla/xla_module.hpp"
#include "predict/imported/module_answer.hpp"

namespace roofline::core {

/// The rules by which XLA's costs of instructions are counted for a question.
[[nodiscard]] XlaCostOptions cost_options(const ModuleQuestion& question);

/// Returns the program of a module in the notation, such that parse_program() gives the same FLOPs, bytes and times.
/// Comments say what it is of, and what is not counted. Errors: those of xla_cost() and lower_module().
[[nodiscard]] Result<std::string> module_program_text(const XlaModule& module, const std::string& name,
                                                      const ModuleQuestion& question);

}  // namespace roofline::core
