// The processes that were started together with this one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/network/communicator.hpp"
#include "measure/network/rank_watch.hpp"

namespace roofline::core {

/// What a launcher (mpirun, mpiexec, srun) says of this process in its environment.
struct Launched {
    int ranks = 1;
    int rank = 0;
};

/// Empty for a process that was started by itself. `variable` reads the environment.
[[nodiscard]] std::optional<Launched> launched(const std::function<const char*(const char*)>& variable);
[[nodiscard]] std::optional<Launched> launched();

/// The ranks, joined: as long as it lives they can exchange. Leaves the group when it is destroyed.
class RankGroup {
public:
    /// Errors: code `absent` without an MPI module.
    [[nodiscard]] static Status available();
    /// An exchange that lasts longer than `most_s` seconds ends the process (RankWatch).
    /// Errors: code `absent` without an MPI module; a launcher of another MPI than the module's.
    [[nodiscard]] static Result<RankGroup> join(double most_s);
    /// A group that is there already, for tests; nothing is left when this is destroyed.
    explicit RankGroup(Communicator& world) : world_(&world) {}
    RankGroup(RankGroup&& other) noexcept;
    RankGroup& operator=(RankGroup&&) = delete;
    RankGroup(const RankGroup&) = delete;
    RankGroup& operator=(const RankGroup&) = delete;
    ~RankGroup();

    [[nodiscard]] Communicator& world() { return *world_; }
    [[nodiscard]] int rank() const { return world_->rank(); }
    [[nodiscard]] int size() const { return world_->size(); }
    [[nodiscard]] bool root() const { return rank() == 0; }
    [[nodiscard]] std::string library() const;  ///< "Open MPI 4.1.4"
    /// How many hosts the ranks are on. All ranks call it.
    [[nodiscard]] Result<int> hosts();
    /// Goes without a word to the others: they may wait in an exchange for what will never come.
    void leave() { library_ = nullptr; }

private:
    RankGroup() = default;
    RankLibrary* library_ = nullptr;
    std::unique_ptr<RankWatch> watch_{};
    std::unique_ptr<Communicator> watched_{};
    Communicator* world_ = nullptr;
};

}  // namespace roofline::core
