// One server of a simulation.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "plan/decoded_sequences.hpp"
#include "plan/serving_queue.hpp"

namespace roofline::core {

/// A server with its queue, its iterations and the sequences that it decodes. It is idle or processes iterations until
/// end_s(), of which an arrival may shorten the number.
class SimulatedServer {
public:
    /// What it does with a request.
    enum class Task {
        all,      ///< processes its prompt and decodes it
        prompts,  ///< processes its prompt
        decoding  ///< decodes it
    };

    /// Times between tokens are added to the times of `run`, which also has the times of first tokens. `requests`,
    /// `pool` and `run` must outlive the object.
    SimulatedServer(const std::vector<RequestTokens>& requests, const ServerPool& pool, Task task, ServingRun& run);

    /// The request becomes available at `now_s`, which is not earlier than for those before it.
    void offer(std::int64_t number, double now_s);
    /// Number of requests that it was offered and that have not left it.
    [[nodiscard]] std::int64_t inside() const { return static_cast<std::int64_t>(queue_.size()) - ended_; }
    /// When the iterations in progress end; infinite if it is idle.
    [[nodiscard]] double end_s() const { return end_s_; }
    /// Ends the iterations in progress. Afterwards it is idle.
    void end();
    /// Begins the next iterations if it is idle and there is work.
    void begin(double now_s);

    /// Prompts that were completed at the last end(), in order of arrival unless there are several members. With
    /// Task::prompts they have left the server.
    [[nodiscard]] const std::vector<std::int64_t>& processed() const { return processed_; }
    /// Removes a request that has all of its tokens, and returns it; empty if there are no more.
    std::optional<std::int64_t> take_decoded();

private:
    /// A member of data parallelism.
    struct Member {
        std::optional<std::int64_t> request;  ///< whose prompt it processes
        std::int64_t done = 0;                ///< tokens of that prompt
        std::int64_t left = 0;                ///< tokens that it can process in this iteration
        double seconds = 0;                   ///< of its prompts in this iteration
        double lone_s = 0;                    ///< likewise, while the other members have none
    };
    /// The iterations in progress.
    struct Iterations {
        double begin_s = 0;  ///< of the first that decodes
        std::int64_t decoding = 0;
        DecodeCost cost{};
    };

    [[nodiscard]] const RequestTokens& request(std::int64_t number) const {
        return requests_[static_cast<std::size_t>(number)];
    }
    [[nodiscard]] std::int64_t cache_tokens(std::int64_t number) const {
        return pool_.limits.held(request(number).prompt + (task_ == Task::prompts ? 0 : request(number).output));
    }
    [[nodiscard]] bool has_room(std::int64_t number) const;
    [[nodiscard]] std::int64_t waits() const;
    [[nodiscard]] std::optional<std::int64_t> admit();
    void leave(std::int64_t number);
    void process(Member& member);
    [[nodiscard]] std::optional<double> prompts_seconds();
    void enter_admitted(double now_s);
    void plan(std::int64_t iterations, double begin_s);

    const std::vector<RequestTokens>& requests_;
    const ServerPool& pool_;
    Task task_;
    ServingRun& run_;
    DecodedSequences running_;
    TokenGaps gaps_;
    std::vector<std::optional<DecodeCost>> decode_costs_;  ///< by number of sequences, each computed once
    std::vector<Member> members_;
    std::vector<std::int64_t> queue_;      ///< all that were offered, in order of arrival
    std::vector<std::int64_t> ready_;      ///< the iteration from which on each of them is looked at
    std::vector<std::int64_t> processed_;  ///< prompts that the iteration in progress completes, or the last one
    Iterations iterations_{};
    double end_s_ = std::numeric_limits<double>::infinity();
    double now_s_ = 0;            ///< the last end
    std::int64_t iteration_ = 0;  ///< iterations that have ended
    std::size_t admitted_ = 0;    ///< of `queue_`
    std::int64_t ended_ = 0;      ///< requests that left
    std::int64_t reserved_ = 0;   ///< tokens of cache
};

}  // namespace roofline::core
