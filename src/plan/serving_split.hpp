// The shardings of weights and caches while tokens are generated: the subscripts of a plan, and further splits that a
// growing cache allows.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "layout/lay_out.hpp"
#include "notation/notation.hpp"
#include "plan/plan.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// How caches are split over those members of the tensor axis that share a KV head (all of them, if one cache serves
/// all heads): replicated, by sequence of the batch, or by position of the context.
enum class CacheSplit { heads, batch, context };
[[nodiscard]] std::string_view name(CacheSplit split);

struct ServingSplit {
    Program program;             ///< with mesh and subscripts
    StayingAxes stay;            ///< weights and caches are not gathered; for lay_out()
    bool caches_differ = false;  ///< whether caches could be split in more than one way
    std::int64_t members = 1;    ///< number of members over which they are then split by batch or context
};

/// Shards a model's program as a plan says (apply_plan()), with these differences:
/// - caches are split as `caches` says;
/// - tensors that have only sequences, tokens and width are whole on each member of `tensor`, because there are few
///   tokens;
/// - results that the plan splits further have the best sharding that the layout search finds.
/// An axis `pipeline` splits no tensor: every member does the work of all stages one after another. Errors: those of
/// apply_plan().
[[nodiscard]] Result<ServingSplit> split_for_serving(const Program& program, const DimRoles& roles, const Plan& plan,
                                                     CacheSplit caches);

}  // namespace roofline::core
