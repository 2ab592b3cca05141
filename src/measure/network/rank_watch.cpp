#include "measure/network/rank_watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace roofline::core {

/// Counts beginnings and ends of exchanges, so an odd number means that one is running; a thread checks periodically
/// whether it has changed.
class RankWatch::State {
public:
    explicit State(double max_s) : max_s_(max_s), thread_([this] { watch(); }) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        end_.notify_one();
        thread_.join();
    }

    void step() { steps_.fetch_add(1, std::memory_order_relaxed); }

private:
    using Clock = std::chrono::steady_clock;

    void watch() {
        std::uint64_t seen = 0;
        Clock::time_point since = Clock::now();
        std::unique_lock lock(mutex_);
        const std::chrono::duration<double> pause(max_s_ / 10 < 1 ? max_s_ / 10 : 1);
        while (!end_.wait_for(lock, pause, [this] { return ended_; })) {
            const std::uint64_t now = steps_.load(std::memory_order_relaxed);
            if (now != seen || now % 2 == 0) {
                seen = now;
                since = Clock::now();
            } else if (Clock::now() - since > std::chrono::duration<double>(max_s_)) {
                give_up();
            }
        }
    }

    [[noreturn]] void give_up() const {
        const std::string text = fmt::format(
            "error: an exchange between ranks has taken {:g} s: a rank is stuck or has ended\n"
            "hint: --rank-timeout sets the limit in seconds\n",
            max_s_);
        (void)!::write(STDERR_FILENO, text.data(), text.size());
        ::_exit(1);
    }

    const double max_s_;
    std::atomic<std::uint64_t> steps_{0};
    std::mutex mutex_;
    std::condition_variable end_;
    bool ended_ = false;
    std::thread thread_;  // the last member because it uses the others
};

namespace {

class WatchedPending : public PendingExchange {
public:
    WatchedPending(std::unique_ptr<PendingExchange> exchange, RankWatch& watch)
        : exchange_(std::move(exchange)), watch_(watch) {}
    ~WatchedPending() override {
        const RankWatch::Within within(watch_);
        exchange_.reset();
    }

    Result<bool> done() override { return exchange_->done(); }
    Status wait() override {
        const RankWatch::Within within(watch_);
        return exchange_->wait();
    }

private:
    std::unique_ptr<PendingExchange> exchange_;
    RankWatch& watch_;
};

class WatchedGroup : public Communicator {
public:
    WatchedGroup(Communicator& group, RankWatch& watch) : group_(group), watch_(watch) {}
    WatchedGroup(std::unique_ptr<Communicator> group, RankWatch& watch)
        : own_(std::move(group)), group_(*own_), watch_(watch) {}

    [[nodiscard]] int rank() const override { return group_.rank(); }
    [[nodiscard]] int size() const override { return group_.size(); }
    [[nodiscard]] std::size_t max_bytes() const override { return group_.max_bytes(); }
    [[nodiscard]] Status barrier() override {
        const RankWatch::Within within(watch_);
        return group_.barrier();
    }
    [[nodiscard]] Status run(const Exchange& exchange) override {
        const RankWatch::Within within(watch_);
        return group_.run(exchange);
    }
    [[nodiscard]] Result<std::unique_ptr<PendingExchange>> start(const Exchange& exchange) override {
        ROOFLINE_TRY(auto started, group_.start(exchange));
        return std::make_unique<WatchedPending>(std::move(started), watch_);
    }
    [[nodiscard]] Result<std::unique_ptr<Communicator>> split(int color, int key) override {
        const RankWatch::Within within(watch_);
        ROOFLINE_TRY(auto part, group_.split(color, key));
        return std::make_unique<WatchedGroup>(std::move(part), watch_);
    }

private:
    std::unique_ptr<Communicator> own_;
    Communicator& group_;
    RankWatch& watch_;
};

}  // namespace

RankWatch::RankWatch(double max_s) : state_(std::make_unique<State>(max_s)) {}
RankWatch::~RankWatch() = default;

std::unique_ptr<Communicator> RankWatch::watched(Communicator& group) {
    return std::make_unique<WatchedGroup>(group, *this);
}

RankWatch::Within::Within(RankWatch& watch) : watch_(watch) { watch_.state_->step(); }
RankWatch::Within::~Within() { watch_.state_->step(); }

}  // namespace roofline::core
