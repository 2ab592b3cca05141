// A plan as subscripts: where each tensor of a model's program lies. Which collectives follow, the layout says.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "layout/lay_out.hpp"
#include "notation/notation.hpp"
#include "plan/plan.hpp"
#include "program/adjoint.hpp"
#include "program/program.hpp"

namespace roofline::core {

struct PlannedProgram {
    Program program;                 ///< with subscripts and the mesh; a `pipeline` axis splits no tensor
    StayingAxes stay;                ///< weights stay where they are over `tensor` and `expert`: for lay_out()
    std::vector<std::string> notes;  ///< what is not as the plan's words make expect: heads that are held twice, ...
};

/// Splits a sized program as a plan says, by what its dimensions are (see docs/method/plans.md for the table of rules).
/// A tensor axis that has more members than there are heads of keys and values is cut in two, `tensor` over those heads
/// and `queries` over the queries of each. Errors: an axis that the program has no dimension for; more members than
/// heads, or a number that does not divide them.
[[nodiscard]] Result<PlannedProgram> apply_plan(const Program& program, const DimRoles& roles, const Plan& plan);

/// The same for a training step. Gradients and the optimizer's states lie as their parameters, and over `data` as the plan's ZeRO
/// stage says (Rajbhandari et al. 2020): states from 1 on, gradients from 2 on, parameters at 3. Gradients that `data` does not
/// share out stay partial sums over it until the optimizer reads them, and so do over `expert` those of what has no experts.
[[nodiscard]] Result<PlannedProgram> apply_plan(const TrainingProgram& step, const DimRoles& roles, const Plan& plan);

}  // namespace roofline::core
