// From a program with subscripts to what one chip does: collectives derived, dimensions as shares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline::core {

class LayoutSearch;
struct ProgramLayout;

/// Mesh axes over which a tensor is used, or made, as it lies: it is never gathered over them.
using StayingAxes = std::map<ValueId, std::vector<std::string>>;

/// Where work may be done: with its dimensions split as some tensor of the program has them there, as a plan of parallelism and
/// textbooks mean it, or over any of the mesh axes that its operands and its result have.
enum class LayoutFreedom { as_written, any };

/// A legal way to do a statement.
struct LayoutPlan {
    std::string text;  ///< "all-gather W over X", "no communication"
    double lower_s = 0;
    double upper_s = 0;
};

/// What was chosen for one statement and what else there was, best first.
struct LaidStatement {
    ValueId result = 0;
    std::vector<LayoutPlan> plans;  ///< the first is the one taken
    bool communicates = false;      ///< that one has messages
    bool repeated = false;          ///< inside a repeat: the plans' times are those of one pass
};

struct LaidOut {
    Program local;  ///< the same statements on shares of the dimensions, with their messages
    std::vector<LaidStatement> statements;
    std::vector<TensorType> types;   ///< of each value with the subscripts that it has: as written, or as chosen
    std::vector<std::string> notes;  ///< splits that are padded, work that is repeated
};

/// Lays a program out. Written types fix where tensors lie; all else is chosen for the whole program (LayoutSearch). Errors: mesh
/// axes that the system lacks; illegal reshardings; work at several chips, which are not one chip's; a fuse block that is partly
/// done by one chip.
[[nodiscard]] Result<LaidOut> lay_out(const Program& program, const System& system, const StayingAxes& stay = {},
                                      LayoutFreedom freedom = LayoutFreedom::any);

/// The same in a layout that has been chosen.
[[nodiscard]] Result<LaidOut> lay_out(const Program& program, const System& system, LayoutSearch& search,
                                      const ProgramLayout& layout);

}  // namespace roofline::core
