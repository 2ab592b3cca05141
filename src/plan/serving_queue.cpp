#include "plan/serving_queue.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>

#include "plan/random_numbers.hpp"
#include "plan/simulated_pool.hpp"

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
        : requests_(load.requests),
          pools_(pools),
          arrivals_(load),
          prompts_(requests_, pools.prompts, pools.decode ? Task::prompts : Task::all, run_) {
        const auto all = static_cast<std::int64_t>(requests_.size());
        run_.requests.resize(requests_.size());
        if (!arrivals_.open() && load.concurrency < all) run_.first = load.concurrency;
        if (pools_.decode) decoding_.emplace(requests_, *pools_.decode, Task::decoding, run_);
    }

    ServingRun run() {
        while (ended_ < static_cast<std::int64_t>(requests_.size())) {
            deliver();
            now_s_ = std::min(arrivals_.next_s(),
                              transfers_.empty() ? std::numeric_limits<double>::infinity() : transfers_.top().end_s);
            now_s_ = std::min(now_s_, prompts_.end_s());
            if (decoding_) now_s_ = std::min(now_s_, decoding_->end_s());
            end(prompts_);
            if (decoding_) end(*decoding_);
        }
        run_.seconds = now_s_;
        return std::move(run_);
    }

private:
    using Task = SimulatedServer::Task;

    RequestTimes& times(std::int64_t number) { return run_.requests[static_cast<std::size_t>(number)]; }
    [[nodiscard]] const RequestTokens& request(std::int64_t number) const {
        return requests_[static_cast<std::size_t>(number)];
    }

    // Hands out what has arrived, and begins what can begin.
    void deliver() {
        while (const auto arrival_s = arrivals_.take(now_s_)) {
            times(arrived_).arrival_s = *arrival_s;
            prompts_.offer(arrived_++, *arrival_s);
        }
        while (!transfers_.empty() && transfers_.top().end_s <= now_s_) {
            decoding_->offer(transfers_.top().number, transfers_.top().end_s);
            transfers_.pop();
        }
        prompts_.begin(now_s_);
        if (decoding_) decoding_->begin(now_s_);
    }

    void end(SimulatedPool& pool) {
        while (SimulatedServer* server = pool.end(now_s_)) {
            if (pools_.decode) {
                for (const std::int64_t number : server->processed()) send(number);
            }
            while (const auto number = server->take_decoded()) answered(*number);
        }
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
    SimulatedPool prompts_;
    std::optional<SimulatedPool> decoding_;
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
