// Short names of the kinds of collectives for tests.
#pragma once

#include "program/program.hpp"

namespace roofline::core {

inline constexpr auto all_gather = CollectiveKind::all_gather;
inline constexpr auto reduce_scatter = CollectiveKind::reduce_scatter;
inline constexpr auto all_reduce = CollectiveKind::all_reduce;
inline constexpr auto all_to_all = CollectiveKind::all_to_all;
inline constexpr auto permute = CollectiveKind::permute;

}  // namespace roofline::core
