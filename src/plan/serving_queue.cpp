#include "plan/serving_queue.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <queue>

namespace roofline::core {

namespace {

constexpr std::int64_t max_output = 1'000'000'000;

/// A sequence in decoding.
struct RunningRequest {
    std::int64_t last_iteration = 0;  ///< the iteration that makes its last token
    std::int64_t number = 0;          ///< of the request
    double first_token_s = 0;

    /// The request that finishes first has the highest priority.
    bool operator<(const RunningRequest& other) const {
        return last_iteration != other.last_iteration ? last_iteration > other.last_iteration : number > other.number;
    }
};

class Server {
public:
    Server(const ServingLoad& load, const ServingCosts& costs)
        : load_(load), costs_(costs), room_(load.room > 0 ? std::min(load.room, load.requests) : load.requests) {
        all_ = load.requests * load.rounds;
        arrive(load.requests);
    }

    ServingTimes run() {
        while (finished_ < all_) {
            take_in();
            if (entering_ > 0) {
                prompt_iteration();
            } else {
                decode_until_one_is_done();
            }
            finish();
        }
        const auto count = static_cast<double>(all_);
        const auto later = static_cast<double>(all_ - load_.requests);
        ServingTimes times;
        times.ttft_s = waited_s_ / count;
        times.later_ttft_s = later > 0 ? later_waited_s_ / later : times.ttft_s;
        if (decoded_ > 0) times.tpot_s = token_s_ / static_cast<double>(decoded_);
        if (now_s_ > 0) {
            times.running = decoded_s_ / now_s_;
            times.requests_per_s = count / now_s_;
        }
        return times;
    }

private:
    void arrive(std::int64_t requests) {
        for (std::int64_t i = 0; i < requests && arrived_ < all_; ++i, ++arrived_) waiting_.push_back(now_s_);
    }

    void take_in() {
        if (entering_ > 0) return;
        entering_ = std::min(
            {static_cast<std::int64_t>(waiting_.size()), room_ - running(), std::max<std::int64_t>(1, load_.together)});
        chunks_left_ = std::max<std::int64_t>(1, load_.chunks);
    }

    void prompt_iteration() {
        const auto chunks = static_cast<double>(std::max<std::int64_t>(1, load_.chunks));
        now_s_ += costs_.prompts_s(static_cast<double>(entering_)) / chunks + (running_.empty() ? 0 : iteration_s());
        ++iteration_;
        if (--chunks_left_ > 0) return;
        for (; entering_ > 0; --entering_) {
            const double waited = now_s_ - waiting_.front();
            waited_s_ += waited;
            if (entered_ >= load_.requests) later_waited_s_ += waited;
            running_.push({iteration_ + output_of(entered_) - 1, entered_, now_s_});
            waiting_.pop_front();
            ++entered_;
        }
    }

    void decode_until_one_is_done() {
        const std::int64_t iterations = running_.top().last_iteration - iteration_;
        now_s_ += static_cast<double>(iterations) * iteration_s();
        iteration_ += iterations;
    }

    void finish() {
        while (!running_.empty() && running_.top().last_iteration <= iteration_) {
            const RunningRequest done = running_.top();
            running_.pop();
            ++finished_;
            const double decoding_s = now_s_ - done.first_token_s;
            decoded_s_ += decoding_s;
            if (const std::int64_t output = output_of(done.number); output > 1) {
                token_s_ += decoding_s / static_cast<double>(output - 1);
                ++decoded_;
            }
            arrive(1);
        }
    }

    // Multiples of the golden ratio are evenly distributed in the unit interval, for any number of them.
    [[nodiscard]] std::int64_t output_of(std::int64_t number) const {
        if (!(load_.spread > 0)) return load_.output;
        const double turns = static_cast<double>(number + 1) * 0.6180339887498949;
        const double share = 1 + load_.spread * (2 * (turns - std::floor(turns)) - 1);
        return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(load_.output)));
    }

    [[nodiscard]] std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }

    double iteration_s() {
        const auto found = iterations_s_.find(running());
        if (found != iterations_s_.end()) return found->second;
        return iterations_s_.emplace(running(), costs_.iteration_s(static_cast<double>(running()))).first->second;
    }

    const ServingLoad& load_;
    const ServingCosts& costs_;
    std::int64_t room_ = 0;
    std::int64_t all_ = 0;
    std::int64_t arrived_ = 0;
    std::int64_t finished_ = 0;
    std::int64_t entered_ = 0;
    std::int64_t entering_ = 0;  ///< requests whose prompts are being processed
    std::int64_t chunks_left_ = 0;
    std::int64_t iteration_ = 0;
    std::deque<double> waiting_;  ///< arrival times
    std::priority_queue<RunningRequest> running_;
    double now_s_ = 0;
    double waited_s_ = 0;
    double later_waited_s_ = 0;
    double decoded_s_ = 0;  ///< of all requests, from the first token to the last
    double token_s_ = 0;    ///< the sum over requests with further tokens of the mean time of each of these
    std::int64_t decoded_ = 0;
    std::map<std::int64_t, double> iterations_s_;
};

}  // namespace

ServingTimes serving_times(const ServingLoad& load, const ServingCosts& costs) {
    ServingLoad sound = load;
    sound.requests = std::clamp<std::int64_t>(load.requests, 1, max_requests);
    sound.rounds = std::clamp<std::int64_t>(load.rounds, 1, 100);
    sound.output = std::clamp<std::int64_t>(load.output, 1, max_output);
    sound.spread = std::clamp(load.spread, 0.0, 1.0);
    return Server(sound, costs).run();
}

}  // namespace roofline::core
