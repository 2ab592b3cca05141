// Ranks that wait for one that is stuck or gone: no MPI tells, so that they would wait for ever.
#pragma once

#include <memory>

#include "measure/network/communicator.hpp"

namespace roofline::core {

/// Ends the process, with a word on standard error, when one exchange lasts longer than the time given. The launcher ends the others.
class RankWatch {
public:
    /// Above zero; seconds.
    explicit RankWatch(double most_s);
    RankWatch(const RankWatch&) = delete;
    RankWatch& operator=(const RankWatch&) = delete;
    ~RankWatch();

    /// The group, each exchange of which is watched, those of groups that it is divided into too. It and this outlive what is made.
    [[nodiscard]] std::unique_ptr<Communicator> watched(Communicator& group);

    /// As long as one lives an exchange is under way.
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
