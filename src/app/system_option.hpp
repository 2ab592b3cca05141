// The options `--on NAME:SHAPE` and `--mesh`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "network/system.hpp"
#include "predict/compare/measured_systems.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Returns the machine that a reference denotes, with the what-ifs of --set. Errors: an unknown machine; an unreadable
/// file; a what-if for a value that the machine does not have.
[[nodiscard]] Result<Machine> resolve_machine(const MachineRef& reference, const std::vector<std::string>& sets);

/// Whether a reference contains a slice: tpu-v5e:4x4, my.toml:4x4.
[[nodiscard]] bool names_slice(const MachineRef& reference);

/// Returns the slice that a reference denotes; one chip if it names only a machine. Errors: a shape that cannot be
/// built.
[[nodiscard]] Result<Slice> resolve_slice(const MachineRef& reference, const std::vector<std::string>& sets);

/// Returns the machine on which all rows of a table are assumed to be measured, by --on and --set; empty if they are
/// not given. The names that tables use for systems are accepted, too. Errors: an unknown machine or what-if; several
/// machines; what-ifs without a machine.
[[nodiscard]] Result<std::optional<SystemOverride>> measured_on(const std::vector<MachineRef>& machines,
                                                                const std::vector<std::string>& sets);

/// Returns the machine that a profile was recorded on, with the shape of a slice of several chips. Errors: those of
/// measured_on(); `no_machine` if none is given, because profiles do not name machines.
[[nodiscard]] Result<SystemOverride> recorded_on(const std::vector<MachineRef>& machines,
                                                 const std::vector<std::string>& sets);

/// Returns the systems of a table's rows, by --on and --set. Errors: those of measured_on(); a shape that cannot be
/// built.
[[nodiscard]] Result<MeasuredSystems> measured_systems(const std::vector<MachineRef>& machines,
                                                       const std::vector<std::string>& sets);

/// Returns the system with the mesh of --mesh or else of the program. Errors: a shape that cannot be built; a mesh that
/// does not match the slice; a sharded program on a single chip.
[[nodiscard]] Result<System> resolve_system(const MachineRef& reference, const OpRequest& request,
                                            const Program& program, std::vector<std::string>& notes);

}  // namespace roofline::core
