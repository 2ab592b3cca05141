// A module of XLA as a Program: what one device executes, with its collectives.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/xla_module.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// An instruction of a module.
struct InstructionRef {
    std::uint32_t computation = 0;
    std::uint32_t instruction = 0;

    auto operator<=>(const InstructionRef&) const = default;
};

/// A loop of the module, and how often it runs.
struct ImportedLoop {
    InstructionRef instruction;
    std::int64_t trips = 1;  ///< the count that was used
    enum class Known : std::uint8_t { found, given, assumed } known = Known::found;
};

/// Work that the program has only in part: an operation of which the FLOPs are unknown, a loop whose count is.
struct ImportGap {
    InstructionRef instruction;
    std::string what;  ///< "custom-call foo: its FLOPs are unknown; the bytes of its operands and results count"
};

/// Asynchronous work: what `-start` begins and `-done` waits for.
struct ImportedAsync {
    InstructionRef start;
    ValueId first = 0;  ///< the values that the start makes ...
    ValueId last = 0;   ///< ... up to this one
    ValueId until = 0;  ///< values from here on are made after the done; `last` where nothing waits in its computation
};

struct ImportedProgram {
    Program program;
    /// By value: the instruction that makes it; nothing for inputs and constants.
    std::vector<std::optional<InstructionRef>> made_by;
    /// By value: the innermost call around that instruction that has a source line, if there is one.
    std::vector<std::optional<InstructionRef>> called_by{};
    /// By value: the instruction that computes it, in a fusion one of those inside; nothing for inputs.
    std::vector<std::optional<InstructionRef>> written_by{};
    std::vector<ImportedLoop> loops;
    std::vector<ImportedAsync> started;  ///< in the order of their values
    /// By repeat block, inner ones first: arrays before the loop, and those that take their place after each iteration.
    std::vector<std::vector<std::pair<ValueId, ValueId>>> carried{};
    std::vector<ImportGap> gaps;
    std::vector<std::string> notes;
    std::int64_t devices = 1;                                  ///< that execute it
    std::vector<ValueId> results;                              ///< arrays that the entry returns
    std::vector<std::pair<ValueId, ValueId>> shared_memory{};  ///< pairs of arrays with the same memory
};

struct ImportOptions {
    std::map<std::string, std::int64_t, std::less<>> loops{};  ///< counts by the loop's name
    /// Whether to fuse what a compiler fuses where the module has not been through one.
    bool fuse = true;
    /// Whether a constraint on the sharding of an array, or the sharding of a result, is a statement.
    bool keep_constraints = false;
};

/// Makes a program of a module. Loops become repeats, fusions fuse blocks, collectives messages over the axes of a mesh
/// that their replica groups imply. `costs` are those of the module; they count what the notation has no function for.
/// Of a conditional's branches the one with the most FLOPs counts. Errors: an instruction whose attributes do not fit
/// its shapes; a loop of `options` that the module lacks; groups of devices that no mesh has.
[[nodiscard]] Result<ImportedProgram> lower_module(const XlaModule& module, const XlaModuleCost& costs,
                                                   const std::string& name, const ImportOptions& options = {});

}  // namespace roofline::core
