// Which arrays of a module live at once.
#pragma once

#include "import/xla/lower/lower_module.hpp"
#include "predict/imported/module_answer.hpp"

namespace roofline::core {

/// Returns the peak of the bytes that one device holds: arguments all the time, results from the kernel that makes them
/// to the last one that reads them; what a kernel keeps to itself is never held. An update in place takes the memory of
/// its target. `module` names arrays.
[[nodiscard]] ModuleMemory module_memory(const XlaModule& module, const ImportedProgram& imported);

}  // namespace roofline::core
