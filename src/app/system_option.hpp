// What `--on NAME:SHAPE` and `--mesh` mean together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline {

/// The machine a reference means, with what-ifs applied. Errors: no such machine, a file that cannot be read, a figure that it lacks.
[[nodiscard]] Result<Machine> resolve_machine(const MachineRef& reference, const std::vector<std::string>& sets);

/// Whether a reference names a slice: tpu-v5e:4x4, my.toml:4x4.
[[nodiscard]] bool names_slice(const MachineRef& reference);

/// The slice a reference means; of a machine alone one chip. Errors: a shape that cannot be wired.
[[nodiscard]] Result<Slice> resolve_slice(const MachineRef& reference, const std::vector<std::string>& sets);

/// The same with the mesh of the program (or of --mesh, which wins) on it. Errors: a
/// shape that cannot be wired; a mesh that is not the slice; a program that is split where there is one chip.
[[nodiscard]] Result<System> resolve_system(const MachineRef& reference, const OpRequest& request,
                                            const Program& program, std::vector<std::string>& notes);

}  // namespace roofline
