// The program of a module of XLA.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "import/xla/xla_module.hpp"
#include "layout/lay_out.hpp"
#include "predict/imported/module_answer.hpp"

namespace roofline::core {

/// The rules by which XLA's costs of instructions are counted for a question.
[[nodiscard]] XlaCostOptions cost_options(const ModuleQuestion& question);

/// Returns the program of a module in the notation, such that parse_program() gives the same FLOPs, bytes and times.
/// Comments say what it is of, and what is not counted. Errors: those of xla_cost() and lower_module().
[[nodiscard]] Result<std::string> module_program_text(const XlaModule& module, const std::string& name,
                                                      const ModuleQuestion& question);

/// Returns the program of a module from before partitioning, with the subscripts that the module says and other arrays
/// free. Errors: those of lower_module() and module_sharding().
[[nodiscard]] Result<ImportedProgram> sharded_program(const XlaModule& module, const XlaModuleCost& costs,
                                                      const std::string& name, const ModuleQuestion& question);

/// How the layouts of a sharded program are searched: jointly, or statement by statement where there are too many.
[[nodiscard]] LayoutFreedom layout_freedom(const Program& program);

/// Replaces a program that was laid out by that of one chip, counts its collectives, and says how it was laid out.
void take_laid_out(const ImportedProgram& imported, const XlaModule& module, ModuleAnswer& answer);

}  // namespace roofline::core
