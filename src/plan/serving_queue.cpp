#include "plan/serving_queue.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>

#include "plan/random_numbers.hpp"
#include "plan/simulated_server.hpp"

namespace roofline::core {

namespace {

constexpr std::uint64_t arrival_seed = 3;

/// The times at which requests arrive.
class Arrivals {
public:
    explicit Arrivals(const ServingLoad& load)
        : rate_(load.rate), left_(static_cast<std::int64_t>(load.requests.size())), random_(arrival_seed) {
        if (open()) {
            wait();
        } else {
            due_ = std::clamp<std::int64_t>(load.concurrency, 1, left_);
        }
    }

    [[nodiscard]] bool open() const { return rate_ > 0; }
    /// Returns when the next request arrives; infinite if that depends on others or if there are no more.
    [[nodiscard]] double next_s() const {
        return open() && left_ > 0 ? next_s_ : std::numeric_limits<double>::infinity();
    }

    /// Returns the time of the next arrival that is not later than `now_s`, and passes on to the one after it; empty if
    /// there is none.
    std::optional<double> take(double now_s) {
        if (left_ == 0 || (open() ? next_s_ > now_s : due_ == 0)) return std::nullopt;
        --left_;
        if (!open()) {
            --due_;
            return now_s;
        }
        const double arrival_s = next_s_;
        wait();
        return arrival_s;
    }

    /// A request was answered; in a closed loop the next one arrives.
    void answered() { ++due_; }

private:
    void wait() { next_s_ += random_.exponential() / rate_; }

    double rate_ = 0;
    std::int64_t left_ = 0;
    std::int64_t due_ = 0;  ///< of a closed loop: requests that arrive now
    RandomNumbers random_;
    double next_s_ = 0;
};

/// The cache of a processed prompt on its way to a server that decodes.
struct SentCache {
    double end_s = 0;
    std::int64_t number = 0;  ///< of the request

    /// The one that ends first has the highest priority.
    bool operator<(const SentCache& other) const {
        return end_s != other.end_s ? end_s > other.end_s : number > other.number;
    }
};

class Simulation {
public:
    Simulation(const ServingLoad& load, const ServingPools& pools)
        : requests_(load.requests), pools_(pools), arrivals_(load) {
        const auto all = static_cast<std::int64_t>(requests_.size());
        run_.requests.resize(requests_.size());
        if (!arrivals_.open() && load.concurrency < all) run_.first = load.concurrency;
        using Task = SimulatedServer::Task;
        add(prompts_, pools_.prompts, pools_.decode ? Task::prompts : Task::all);
        if (pools_.decode) add(decoding_, *pools_.decode, Task::decoding);
    }

    ServingRun run() {
        while (ended_ < static_cast<std::int64_t>(requests_.size())) {
            deliver();
            now_s_ = std::min(arrivals_.next_s(),
                              transfers_.empty() ? std::numeric_limits<double>::infinity() : transfers_.top().end_s);
            for (std::vector<SimulatedServer>* servers : {&prompts_, &decoding_}) {
                for (SimulatedServer& server : *servers) now_s_ = std::min(now_s_, server.end_s());
            }
            for (std::vector<SimulatedServer>* servers : {&prompts_, &decoding_}) {
                for (SimulatedServer& server : *servers) {
                    if (server.end_s() <= now_s_) end(server);
                }
            }
        }
        run_.seconds = now_s_;
        return std::move(run_);
    }

private:
    void add(std::vector<SimulatedServer>& servers, const ServerPool& pool, SimulatedServer::Task task) {
        const std::int64_t count = std::clamp<std::int64_t>(pool.servers, 1, max_servers);
        servers.reserve(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i) servers.emplace_back(requests_, pool, task, run_);
    }

    RequestTimes& times(std::int64_t number) { return run_.requests[static_cast<std::size_t>(number)]; }
    [[nodiscard]] const RequestTokens& request(std::int64_t number) const {
        return requests_[static_cast<std::size_t>(number)];
    }

    // Gives a request to the server that has the fewest.
    void offer(std::vector<SimulatedServer>& servers, std::int64_t number, double now_s) {
        std::min_element(servers.begin(), servers.end(), [](const SimulatedServer& a, const SimulatedServer& b) {
            return a.inside() < b.inside();
        })->offer(number, now_s);
    }

    // Hands out what has arrived, and begins what can begin.
    void deliver() {
        while (const auto arrival_s = arrivals_.take(now_s_)) {
            times(arrived_).arrival_s = *arrival_s;
            offer(prompts_, arrived_++, *arrival_s);
        }
        while (!transfers_.empty() && transfers_.top().end_s <= now_s_) {
            offer(decoding_, transfers_.top().number, transfers_.top().end_s);
            transfers_.pop();
        }
        for (SimulatedServer& server : prompts_) server.begin(now_s_);
        for (SimulatedServer& server : decoding_) server.begin(now_s_);
    }

    void end(SimulatedServer& server) {
        server.end();
        if (pools_.decode) {
            for (const std::int64_t number : server.processed()) send(number);
        }
        while (const auto number = server.take_decoded()) answered(*number);
    }

    void send(std::int64_t number) {
        if (request(number).output == 1) {
            times(number).end_s = now_s_;
            answered(number);
            return;
        }
        const double transfer_s =
            pools_.transfer_s ? pools_.transfer_s(static_cast<double>(request(number).prompt)) : 0;
        transfers_.push({now_s_ + transfer_s, number});
    }

    void answered(std::int64_t number) {
        times(number).output = request(number).output;
        ++ended_;
        arrivals_.answered();
    }

    const std::vector<RequestTokens>& requests_;
    const ServingPools& pools_;
    Arrivals arrivals_;
    ServingRun run_;
    std::vector<SimulatedServer> prompts_;
    std::vector<SimulatedServer> decoding_;
    std::priority_queue<SentCache> transfers_;
    std::int64_t arrived_ = 0;  ///< requests; they are numbered in order of arrival
    std::int64_t ended_ = 0;
    double now_s_ = 0;
};

}  // namespace

ServingRun simulate_serving(const ServingLoad& load, const ServingPools& pools) {
    return Simulation(load, pools).run();
}

}  // namespace roofline::core
