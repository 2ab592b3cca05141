// The sequences that a simulated server decodes.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "plan/request_lengths.hpp"
#include "plan/serving_metrics.hpp"

namespace roofline::core {

/// The sequences in decoding: how many there are, their contexts, and which of them ends first.
class DecodedSequences {
public:
    /// `requests` must outlive the object.
    explicit DecodedSequences(const std::vector<RequestTokens>& requests) : requests_(requests) {}

    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(running_.size()); }
    /// Returns the sum of the contexts of the next iteration in tokens: prompts and tokens generated so far.
    [[nodiscard]] double contexts() const { return static_cast<double>(contexts_); }
    /// Returns the number of iterations until a sequence ends; there must be one.
    [[nodiscard]] std::int64_t iterations_to_an_end() const { return running_.top().last_iteration - iteration_; }

    /// Adds a request whose first token has been made.
    void enter(std::int64_t number) {
        const RequestTokens& request = requests_[static_cast<std::size_t>(number)];
        contexts_ += request.prompt + 1;
        running_.push({iteration_ + request.output - 1, number});
    }

    /// Gives each sequence so many further tokens. None may end before.
    void decode(std::int64_t iterations) {
        iteration_ += iterations;
        contexts_ += iterations * count();
    }

    /// Removes a sequence that has all of its tokens, and returns its number; empty if there is none.
    std::optional<std::int64_t> take_ended() {
        if (running_.empty() || running_.top().last_iteration > iteration_) return std::nullopt;
        const std::int64_t number = running_.top().number;
        const RequestTokens& request = requests_[static_cast<std::size_t>(number)];
        contexts_ -= request.prompt + request.output;
        running_.pop();
        return number;
    }

private:
    struct Sequence {
        std::int64_t last_iteration = 0;  ///< the iteration that makes its last token
        std::int64_t number = 0;          ///< of the request

        /// The sequence that ends first has the highest priority.
        bool operator<(const Sequence& other) const {
            return last_iteration != other.last_iteration ? last_iteration > other.last_iteration
                                                          : number > other.number;
        }
    };

    const std::vector<RequestTokens>& requests_;
    std::priority_queue<Sequence> running_;
    std::int64_t iteration_ = 0;
    std::int64_t contexts_ = 0;
};

/// Measures the times between tokens of one server. Sequences that got their last token at the same time are counted
/// together.
class TokenGaps {
public:
    /// The times are added to `gaps`, which must outlive the object.
    explicit TokenGaps(TimeHistogram& gaps) : gaps_(gaps) {}

    /// A sequence enters that got its first token at `first_token_s`.
    void enter(double first_token_s) {
        if (groups_.empty() || groups_.back().last_token_s != first_token_s) groups_.push_back({first_token_s, 0});
        ++groups_.back().sequences;
    }

    /// Each sequence gets `iterations` further tokens, the first at `first_s`; the second takes `second_s`, the last
    /// `last_s`, with those between evenly spaced. The last token is at `now_s`.
    void decode(double iterations, double first_s, double second_s, double last_s, double now_s) {
        double sequences = 0;
        for (const Group& group : groups_) {
            gaps_.add(first_s - group.last_token_s, group.sequences);
            sequences += group.sequences;
        }
        if (iterations > 1) gaps_.add_evenly(second_s, last_s, iterations - 1, sequences);
        groups_.clear();
        if (sequences > 0) groups_.push_back({now_s, sequences});
    }

    /// A sequence ends, whose last token is among the newest.
    void leave() {
        if (--groups_.back().sequences <= 0) groups_.pop_back();
    }

private:
    struct Group {
        double last_token_s = 0;
        double sequences = 0;
    };

    std::vector<Group> groups_;
    TimeHistogram& gaps_;
};

}  // namespace roofline::core
