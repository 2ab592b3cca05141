#include "plan/simulated_pool.hpp"

#include <algorithm>
#include <limits>

namespace roofline::core {

namespace {

std::size_t server_count(const ServerPool& pool) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(pool.servers, 1, max_servers));
}

}  // namespace

SimulatedPool::SimulatedPool(const std::vector<RequestTokens>& requests, const ServerPool& pool,
                             SimulatedServer::Task task, ServingRun& run)
    : inside_(server_count(pool), 0), ends_(server_count(pool), std::numeric_limits<double>::infinity()) {
    servers_.reserve(server_count(pool));
    for (std::size_t i = 0; i < server_count(pool); ++i) servers_.emplace_back(requests, pool, task, run);
}

void SimulatedPool::count_ended() {
    for (const std::size_t i : ended_) {
        inside_.set(i, servers_[i].inside());
        changed_.push_back(i);
    }
    ended_.clear();
}

void SimulatedPool::offer(std::int64_t number, double now_s) {
    count_ended();
    const std::size_t i = inside_.least();
    servers_[i].offer(number, now_s);
    inside_.set(i, servers_[i].inside());
    ends_.set(i, servers_[i].end_s());
    changed_.push_back(i);
}

void SimulatedPool::begin(double now_s) {
    count_ended();
    // in order, so that sums over all servers do not depend on who changed first
    std::sort(changed_.begin(), changed_.end());
    for (const std::size_t i : changed_) {
        servers_[i].begin(now_s);
        ends_.set(i, servers_[i].end_s());
    }
    changed_.clear();
}

SimulatedServer* SimulatedPool::end(double now_s) {
    const std::size_t i = ends_.least();
    if (ends_.least_value() > now_s) return nullptr;
    servers_[i].end();
    ends_.set(i, servers_[i].end_s());
    ended_.push_back(i);
    return &servers_[i];
}

}  // namespace roofline::core
