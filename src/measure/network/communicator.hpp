// Processes that exchange arrays: a group of ranks, and what its members can do together.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "measure/network/sum.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// One exchange. Every member of the group asks for the same kind, part, dtype and root. `part` is P below, n the members:
///
///     all_gather      in P, out nP: every member's part, by rank
///     reduce_scatter  in nP, out P: the sum of everyone's part for me
///     all_reduce      in P, out P: the sum, or of both the largest or smallest
///     all_to_all      in nP, out nP: part i goes to member i and comes from it
///     permute         in P goes to `to`, out P comes from `from`; none for -1. A send is one in which all others have none
///     gather          in P; out nP at the root. scatter: in nP at the root; out P. broadcast: in P at the root; out P
///
/// `in` and `out` do not overlap.
struct Exchange {
    CollectiveKind kind = CollectiveKind::all_gather;
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::size_t part = 0;       ///< bytes
    Dtype dtype = Dtype::bf16;  ///< of what is summed; whole elements make a part
    Reduction reduction = Reduction::sum;
    int root = 0;
    int to = -1;
    int from = -1;
};

/// Where a member of a `permute` to the next of so many sends to and gets from; in a `send` rank 0 sends to rank 1.
void aim(Exchange& exchange, int rank, int members);

/// An exchange that was started. Its buffers stay as they are until it is done. Destroying it waits for its end.
class PendingExchange {
public:
    PendingExchange() = default;
    PendingExchange(const PendingExchange&) = delete;
    PendingExchange& operator=(const PendingExchange&) = delete;
    virtual ~PendingExchange() = default;
    /// Helps it along; whether it is done.
    [[nodiscard]] virtual Result<bool> done() = 0;
    [[nodiscard]] virtual Status wait() = 0;
};

/// A group of ranks. All members make the same calls in the same order.
class Communicator {
public:
    Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    virtual ~Communicator() = default;

    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] virtual Status barrier() = 0;
    /// No call moves more than this through one member: exchange() below cuts up what is larger.
    [[nodiscard]] virtual std::size_t most_bytes() const = 0;
    [[nodiscard]] virtual Status run(const Exchange& exchange) = 0;
    [[nodiscard]] virtual Result<std::unique_ptr<PendingExchange>> start(const Exchange& exchange) = 0;
    /// The members with the same colour, ordered by key, are a group of their own.
    [[nodiscard]] virtual Result<std::unique_ptr<Communicator>> split(int color, int key) = 0;
};

/// Bytes of the input and the output of an exchange at the member that has most.
[[nodiscard]] std::size_t input_bytes(CollectiveKind kind, std::size_t part, int members);
[[nodiscard]] std::size_t output_bytes(CollectiveKind kind, std::size_t part, int members);

/// Runs an exchange of any size, in pieces where it is larger than the group takes at once. Errors: a sum of a dtype that
/// cannot be summed; what the group fails with.
[[nodiscard]] Status exchange(Communicator& group, const Exchange& whole);

/// What starts processes as one group: an MPI.
class RankLibrary {
public:
    RankLibrary() = default;
    RankLibrary(const RankLibrary&) = delete;
    RankLibrary& operator=(const RankLibrary&) = delete;
    virtual ~RankLibrary() = default;

    /// All ranks that were started together; the first call joins them. Lives as long as the process.
    [[nodiscard]] virtual Result<Communicator*> world() = 0;
    /// "Open MPI 4.1.4".
    [[nodiscard]] virtual std::string name() = 0;
    /// A word for the host that is the same for all its ranks and for no others; not for people.
    [[nodiscard]] virtual std::string host() = 0;
    /// Leaves the group; no calls afterwards.
    virtual void end() = 0;
};

}  // namespace roofline::core
