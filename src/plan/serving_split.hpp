// Where weights and caches lie while tokens are made: a plan's subscripts, and beyond them what a growing cache allows.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "layout/lay_out.hpp"
#include "notation/notation.hpp"
#include "plan/plan.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// How caches lie over those members of the tensor axis that their heads do not tell apart (all of them, where one cache serves
/// all heads): whole on each, by sequence of the batch, or by position of the context.
enum class CacheSplit { heads, batch, context };
[[nodiscard]] std::string_view name(CacheSplit split);

struct ServingSplit {
    Program program;             ///< with mesh and subscripts
    StayingAxes stay;            ///< weights and caches stay where they are: for lay_out()
    bool caches_differ = false;  ///< whether caches could lie in more than one way
    std::int64_t members = 1;    ///< over which they then lie by batch or context
};

/// A model's program as a plan splits it (apply_plan()), but
/// - caches lie as `caches` says;
/// - what has only sequences, tokens and width is whole on each member of `tensor`: there are few tokens;
/// - results that the plan splits further lie as is best, as the layout finds.
/// An axis `pipeline` splits no tensor: every member does what all stages do in turn. Errors: those of apply_plan().
[[nodiscard]] Result<ServingSplit> split_for_serving(const Program& program, const DimRoles& roles, const Plan& plan,
                                                     CacheSplit caches);

}  // namespace roofline::core
