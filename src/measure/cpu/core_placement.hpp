// How near two cores are: what a cache line takes from one to the other. In a virtual machine that is all that tells where the host
// put its processors, and the host moves them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "measure/cpu/worker_team.hpp"

namespace roofline::core {

/// How the cores lie at the moment.
enum class CorePlacement : std::uint8_t {
    single,  ///< one core only
    near,    ///< all share a cache
    mixed,   ///< some do
    far,     ///< none does: other chiplets, other sockets
};
[[nodiscard]] std::string_view placement_text(CorePlacement placement);

/// Seconds from worker 0 to each other worker (at most `pairs` of them), one way: half of a round trip of one cache line.
[[nodiscard]] std::vector<double> probe_cores(WorkerTeam& team, int pairs);

/// Below 60 ns one way a line came from a cache that both share; lines that cross between chiplets or sockets take 100 ns and more.
[[nodiscard]] CorePlacement placement_of(const std::vector<double>& one_way_seconds);

}  // namespace roofline::core
