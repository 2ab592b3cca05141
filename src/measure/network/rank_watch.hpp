// Detects ranks that wait for a rank that is stuck or has ended: MPI does not report it, so they would wait forever.
#pragma once

#include <memory>

#include "measure/network/communicator.hpp"

namespace roofline::core {

/// Ends the process with a message on standard error if one exchange takes longer than the limit. The launcher then
/// ends the other ranks.
class RankWatch {
public:
    /// `max_s` is the limit in seconds, above zero.
    explicit RankWatch(double max_s);
    RankWatch(const RankWatch&) = delete;
    RankWatch& operator=(const RankWatch&) = delete;
    ~RankWatch();

    /// Returns the group with every exchange watched, in groups split from it too. The original group and this object
    /// must outlive the result.
    [[nodiscard]] std::unique_ptr<Communicator> watched(Communicator& group);

    /// Marks an exchange as running as long as the object lives.
    class Within {
    public:
        explicit Within(RankWatch& watch);
        Within(const Within&) = delete;
        Within& operator=(const Within&) = delete;
        ~Within();

    private:
        RankWatch& watch_;
    };

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace roofline::core
