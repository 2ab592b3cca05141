// The layout of a program with subscripts on a mesh: collectives are derived, and dimensions become the shards of one
// chip.
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

/// Mesh axes over which a tensor is never gathered: it is used, or computed, in the sharding that it has.
using StayingAxes = std::map<ValueId, std::vector<std::string>>;

/// Which splits of the work are considered: only those in which some tensor of the program has its dimensions, as
/// parallelism plans and textbooks mean it, or those over any mesh axes of the operands and the result. `in_part` also
/// has the first of a dimension's axes without those behind that split another dimension of the operation, as
/// partitioners resolve conflicts. `greedy` keeps only a few layouts of the statements before for each statement: for
/// programs of thousands of statements.
enum class LayoutFreedom { greedy, as_written, in_part, any };

/// Which plans a laid out program has for each statement: the chosen one, or also all others that are legal.
enum class Alternatives { none, all };

/// A legal way to execute a statement.
struct LayoutPlan {
    std::string text;  ///< "all-gather W over X", "no communication"
    double lower_s = 0;
    double upper_s = 0;
};

/// The plan chosen for one statement and, where they were asked for, the alternatives, best first.
struct LaidStatement {
    ValueId result = 0;
    std::vector<LayoutPlan> plans;  ///< the first one is chosen
    bool communicates = false;      ///< some plan has messages
    bool repeated = false;          ///< inside a repeat: the times of the plans are those of one iteration
};

struct LaidOut {
    Program local;  ///< the same statements on shards, with their messages
    std::vector<LaidStatement> statements;
    std::vector<TensorType> types;   ///< by value, with its subscripts: as written, or as chosen
    std::vector<std::string> notes;  ///< about padded splits and repeated work
};

/// Lays a program out. Written types fix the shardings of their tensors; everything else is chosen for the whole
/// program (LayoutSearch). Errors: mesh axes that the system lacks; illegal reshardings; work on several single chips,
/// which cannot be priced as the work of one; a fuse block that runs partly on one chip.
[[nodiscard]] Result<LaidOut> lay_out(const Program& program, const System& system, const StayingAxes& stay = {},
                                      LayoutFreedom freedom = LayoutFreedom::any,
                                      Alternatives alternatives = Alternatives::all);

/// Lays a program out with tensors used in the shardings that they have, so that the sum of all work is the least,
/// where every collective takes `collective_s` in addition (LayoutSearch::choose_sequential()). Errors: as above.
[[nodiscard]] Result<LaidOut> lay_out_sequential(const Program& program, const System& system, const StayingAxes& stay,
                                                 double collective_s, Alternatives alternatives = Alternatives::all);

/// Lays a program out in a layout that was chosen before.
[[nodiscard]] Result<LaidOut> lay_out(const Program& program, const System& system, LayoutSearch& search,
                                      const ProgramLayout& layout, Alternatives alternatives = Alternatives::all);

}  // namespace roofline::core
