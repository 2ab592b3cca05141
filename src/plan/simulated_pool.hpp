// The servers of a pool in a simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/simulated_server.hpp"
#include "plan/tournament.hpp"

namespace roofline::core {

/// Equal servers. A request goes to the one that has the fewest. An event takes time log n with n servers.
class SimulatedPool {
public:
    /// `requests`, `pool` and `run` must outlive the object, as those of a SimulatedServer must.
    SimulatedPool(const std::vector<RequestTokens>& requests, const ServerPool& pool, SimulatedServer::Task task,
                  ServingRun& run);

    /// The request becomes available at `now_s`.
    void offer(std::int64_t number, double now_s);
    /// Begins the next iterations of idle servers that have work.
    void begin(double now_s);
    /// When the first iterations in progress end; infinite if all servers are idle.
    [[nodiscard]] double end_s() const { return ends_.least_value(); }
    /// Ends the iterations of a server that end by `now_s` and returns it; null if there is none. Requests that have
    /// left must be taken from it before the next call of offer().
    SimulatedServer* end(double now_s);

private:
    void count_ended();

    std::vector<SimulatedServer> servers_;
    Tournament<std::int64_t> inside_;   ///< requests of each server
    Tournament<double> ends_;           ///< when the iterations of each server end
    std::vector<std::size_t> ended_;    ///< servers whose requests have not been counted since
    std::vector<std::size_t> changed_;  ///< servers that may begin
};

}  // namespace roofline::core
