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

/// What the environment variables of a launcher (mpirun, mpiexec, srun) say about this process.
struct Launched {
    int ranks = 1;
    int rank = 0;
};

/// Empty for a process that was started alone. `variable` reads an environment variable.
[[nodiscard]] std::optional<Launched> launched(const std::function<const char*(const char*)>& variable);
[[nodiscard]] std::optional<Launched> launched();

/// The ranks of this job, which can communicate as long as this object lives. The destructor leaves the group.
class RankGroup {
public:
    /// Errors: code `absent` if there is no MPI module.
    [[nodiscard]] static Status available();
    /// Joins the ranks. An exchange that takes longer than `max_s` seconds ends the process (RankWatch). Errors: code
    /// `absent` if there is no MPI module; the launcher belongs to another MPI than the module.
    [[nodiscard]] static Result<RankGroup> join(double max_s);
    /// Wraps an existing group, for tests; the destructor does not leave it.
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
    /// Number of hosts that the ranks run on. All ranks call it.
    [[nodiscard]] Result<int> hosts();
    /// Leaves without notifying the others: they may wait in an exchange that will never complete.
    void leave() { library_ = nullptr; }

private:
    RankGroup() = default;
    RankLibrary* library_ = nullptr;
    std::unique_ptr<RankWatch> watch_{};
    std::unique_ptr<Communicator> watched_{};
    Communicator* world_ = nullptr;
};

}  // namespace roofline::core
