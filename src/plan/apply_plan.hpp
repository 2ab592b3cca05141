// A plan as subscripts: the sharding of each tensor of a model's program. The layout derives the collectives that
// follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
    StayingAxes stay;                ///< weights are not gathered over `tensor` and `expert`; for lay_out()
    std::vector<std::string> notes;  ///< deviations from what the plan suggests: heads that are replicated, ...
};

/// Returns the size of the first dimension with a role; empty if there is none.
[[nodiscard]] std::optional<std::int64_t> size_of_role(const DimRoles& roles, const Sizes& sizes,
                                                       std::string_view wanted);

/// The members of the axes `tensor` and `sequence` that split the queries of one head, because there are not as many KV
/// heads.
struct HeadCut {
    std::int64_t tensor_queries = 1;
    std::int64_t sequence_queries = 1;
};

/// Returns how `tensor` and `sequence` divide the KV heads, if the model has any, and the queries per KV head. Errors:
/// members that do not divide them.
[[nodiscard]] Result<HeadCut> cut_heads(const Plan& plan, std::optional<std::int64_t> heads, std::int64_t queries);

/// Returns the mesh of a plan in which an axis that divides both heads and queries is cut in two: `queries` follows
/// `tensor`, `sequence2` follows `sequence`.
[[nodiscard]] std::vector<MeshAxis> mesh_of(const Plan& plan, const HeadCut& parts);

/// Shards a sized program according to a plan, by the roles of its dimensions (docs/method/plans.md has the table of
/// rules). A tensor axis that has more members than there are KV heads is cut in two: `tensor` over those heads, and
/// `queries` over the query heads of each. Errors: an axis that the program has no dimension for; more members than
/// heads, or a number that does not divide them.
[[nodiscard]] Result<PlannedProgram> apply_plan(const Program& program, const DimRoles& roles, const Plan& plan);

/// The same for a training step. Gradients and optimizer states are sharded as their parameters, and over `data` as the
/// plan's ZeRO stage says (Rajbhandari et al. 2020): states from stage 1 on, gradients from 2 on, parameters at 3.
/// Gradients that are not sharded over `data` stay partial sums over it until the optimizer reads them; so do, over
/// `expert`, gradients of parameters that do not belong to experts.
[[nodiscard]] Result<PlannedProgram> apply_plan(const TrainingProgram& step, const DimRoles& roles, const Plan& plan);

}  // namespace roofline::core
