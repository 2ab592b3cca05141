#include "plan/serving_queue.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plan/decoded_sequences.hpp"
#include "plan/random_numbers.hpp"

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

/// The costs of decoding by number of sequences, each computed once.
class DecodeCosts {
public:
    explicit DecodeCosts(const ServingCosts& costs) : costs_(costs) {}

    const DecodeCost& of(std::int64_t sequences) {
        const auto place = static_cast<std::size_t>(sequences);
        if (place >= known_.size()) known_.resize(place + 1);
        if (!known_[place]) known_[place] = costs_.decode(static_cast<double>(sequences));
        return *known_[place];
    }

private:
    const ServingCosts& costs_;
    std::vector<std::optional<DecodeCost>> known_;
};

/// Returns the number of iterations until `wait_s` have passed, the last of them unfinished before, if the first takes
/// `first_s` and each takes `growth_s` longer than the one before it; at most `most`.
std::int64_t iterations_within(double wait_s, double first_s, double growth_s, std::int64_t most) {
    // m first + growth m (m - 1) / 2 = wait
    const double linear = first_s - growth_s / 2;
    const double iterations = 2 * wait_s / (linear + std::sqrt(linear * linear + 2 * growth_s * wait_s));
    if (!(iterations < static_cast<double>(most))) return most;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(iterations)));
}

class Server {
public:
    Server(const ServingLoad& load, const ServerLimits& limits, const ServingCosts& costs)
        : requests_(load.requests),
          limits_(limits),
          costs_(costs),
          decode_(costs),
          arrivals_(load),
          running_(requests_) {
        const auto all = static_cast<std::int64_t>(requests_.size());
        if (limits.sequences > 0) most_sequences_ = limits.sequences;
        run_.requests.resize(requests_.size());
        if (!arrivals_.open() && load.concurrency < all) run_.first = load.concurrency;
    }

    ServingRun run() {
        while (ended_ < static_cast<std::int64_t>(requests_.size())) {
            arrive();
            if (process_prompts()) continue;
            if (running_.count() > 0) {
                decode();
            } else {
                now_s_ = arrivals_.next_s();
            }
        }
        run_.seconds = now_s_;
        run_.gaps = std::move(gaps_.histogram());
        return std::move(run_);
    }

private:
    RequestTimes& times(std::int64_t number) { return run_.requests[static_cast<std::size_t>(number)]; }
    [[nodiscard]] const RequestTokens& request(std::int64_t number) const {
        return requests_[static_cast<std::size_t>(number)];
    }
    static std::int64_t cache_tokens(const RequestTokens& request) { return request.prompt + request.output; }

    void arrive() {
        while (const auto arrival_s = arrivals_.take(now_s_)) times(arrived_++).arrival_s = *arrival_s;
    }

    // Admits the request that has waited longest if it fits.
    bool admit() {
        const std::int64_t inside = admitted_ - ended_;
        if (admitted_ == arrived_ || inside >= most_sequences_) return false;
        const std::int64_t needed = cache_tokens(request(admitted_));
        if (limits_.cache_tokens > 0 && inside > 0 && reserved_ + needed > limits_.cache_tokens) return false;
        reserved_ += needed;
        prompt_done_ = request(admitted_).cached;
        ++admitted_;
        return true;
    }

    // Runs an iteration with prompts if there are any. All but the last admitted prompt are complete.
    bool process_prompts() {
        const bool decoding = limits_.schedule == PromptSchedule::mixed && running_.count() > 0;
        const std::int64_t before = prompts_done_;
        std::int64_t left = std::max<std::int64_t>(1, limits_.prompt_tokens);
        double prompts_s = 0;
        bool any = false;
        while (left > 0 && (prompts_done_ < admitted_ || admit())) {
            const std::int64_t chunk = std::min(left, request(prompts_done_).prompt - prompt_done_);
            const auto done = static_cast<double>(prompt_done_);
            prompts_s += costs_.prompt_s(done + static_cast<double>(chunk)) - costs_.prompt_s(done);
            prompt_done_ += chunk;
            left -= chunk;
            any = true;
            if (prompt_done_ == request(prompts_done_).prompt) ++prompts_done_;
        }
        if (!any) return false;
        advance(std::max(prompts_s, costs_.least_prompts_s), decoding ? 1 : 0);
        for (std::int64_t number = before; number < prompts_done_; ++number) {
            times(number).first_token_s = now_s_;
            running_.enter(number);
            gaps_.enter(now_s_);
        }
        finish();
        return true;
    }

    void decode() {
        const std::int64_t to_an_end = running_.iterations_to_an_end();
        std::int64_t iterations = to_an_end;
        // a waiting request that does not fit waits for an end, and those behind it with it
        if (arrived_ == admitted_ && arrivals_.next_s() < std::numeric_limits<double>::infinity()) {
            const DecodeCost& cost = decode_.of(running_.count());
            iterations = iterations_within(arrivals_.next_s() - now_s_, cost.seconds(running_.contexts()),
                                           cost.context_s * static_cast<double>(running_.count()), to_an_end);
        }
        advance(0, iterations);
        finish();
    }

    // Passes the time of prompts and of so many iterations that decode, the first of them together with the prompts.
    void advance(double prompts_s, std::int64_t iterations) {
        now_s_ += prompts_s;
        if (iterations == 0) return;
        const auto sequences = static_cast<double>(running_.count());
        const auto count = static_cast<double>(iterations);
        const DecodeCost& cost = decode_.of(running_.count());
        const double first_s = cost.seconds(running_.contexts());
        const double growth_s = cost.context_s * sequences;
        const double first_token_s = now_s_ + first_s;
        now_s_ += count * first_s + growth_s * count * (count - 1) / 2;
        gaps_.decode(count, first_token_s, first_s + growth_s, first_s + growth_s * (count - 1), now_s_);
        running_.decode(iterations);
    }

    void finish() {
        while (const auto number = running_.take_ended()) {
            gaps_.leave();
            RequestTimes& ended = times(*number);
            ended.end_s = now_s_;
            ended.output = request(*number).output;
            run_.decoded_s += now_s_ - ended.first_token_s;
            reserved_ -= cache_tokens(request(*number));
            ++ended_;
            arrivals_.answered();
        }
    }

    const std::vector<RequestTokens>& requests_;
    ServerLimits limits_;
    const ServingCosts& costs_;
    DecodeCosts decode_;
    Arrivals arrivals_;
    DecodedSequences running_;
    TokenGaps gaps_;
    ServingRun run_;
    std::int64_t most_sequences_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t reserved_ = 0;     ///< tokens of cache
    std::int64_t prompt_done_ = 0;  ///< tokens of the prompt that is being processed
    std::int64_t arrived_ = 0;      ///< requests, as all that follow; they are numbered in order of arrival
    std::int64_t admitted_ = 0;
    std::int64_t prompts_done_ = 0;
    std::int64_t ended_ = 0;
    double now_s_ = 0;
};

}  // namespace

ServingRun simulate_serving(const ServingLoad& load, const ServerLimits& limits, const ServingCosts& costs) {
    return Server(load, limits, costs).run();
}

}  // namespace roofline::core
