// What `--on NAME:SHAPE` and `--mesh` mean together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "network/system.hpp"
#include "predict/compare/measured_systems.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The machine a reference means, with what-ifs applied. Errors: no such machine, a file that cannot be read, a figure
/// that it lacks.
[[nodiscard]] Result<Machine> resolve_machine(const MachineRef& reference, const std::vector<std::string>& sets);

/// Whether a reference names a slice: tpu-v5e:4x4, my.toml:4x4.
[[nodiscard]] bool names_slice(const MachineRef& reference);

/// The slice a reference means; of a machine alone one chip. Errors: a shape that cannot be wired.
[[nodiscard]] Result<Slice> resolve_slice(const MachineRef& reference, const std::vector<std::string>& sets);

/// What --on and --set say about a table of measurements: nothing, or the one machine on which every row is taken to be
/// measured. Names that tables use for systems are known, too. Errors: an unknown machine or figure; several machines;
/// what-ifs without a machine.
[[nodiscard]] Result<std::optional<MeasuredOn>> measured_on(const std::vector<MachineRef>& machines,
                                                            const std::vector<std::string>& sets);

/// The systems of a table's rows by --on and --set. Errors: those of measured_on() and of a shape that cannot be wired.
[[nodiscard]] Result<MeasuredSystems> measured_systems(const std::vector<MachineRef>& machines,
                                                       const std::vector<std::string>& sets);

/// The same with the mesh of the program (or of --mesh, which wins) on it. Errors: a
/// shape that cannot be wired; a mesh that is not the slice; a program that is split where there is one chip.
[[nodiscard]] Result<System> resolve_system(const MachineRef& reference, const OpRequest& request,
                                            const Program& program, std::vector<std::string>& notes);

}  // namespace roofline::core
