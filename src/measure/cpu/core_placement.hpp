// Measures how close cores are by the time a cache line takes from one to another. In a virtual machine nothing else
// shows where the host has placed its virtual processors, and the host moves them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "measure/cpu/worker_team.hpp"

namespace roofline::core {

/// How the cores are placed at the moment.
enum class CorePlacement : std::uint8_t {
    single,  ///< one core only
    near,    ///< all cores share a cache
    mixed,   ///< some cores share a cache
    far,     ///< no cores share a cache: other chiplets, other sockets
};
[[nodiscard]] std::string_view placement_text(CorePlacement placement);

/// Seconds from worker 0 to each other worker (at most `pairs` of them), one way: half a round trip of a cache line.
[[nodiscard]] std::vector<double> probe_cores(WorkerTeam& team, int pairs);

/// Below 60 ns one way, a line comes from a cache that both cores share; lines that cross chiplets or sockets take 100
/// ns and more.
[[nodiscard]] CorePlacement placement_of(const std::vector<double>& one_way_seconds);

}  // namespace roofline::core
