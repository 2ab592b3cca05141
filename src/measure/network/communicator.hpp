// Communication of processes: a group of ranks, and the collectives that its members run together.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "measure/network/sum.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// One collective or permute. Every member of the group passes the same kind, part, dtype and root. P is `part`, n is
/// the number of members:
///
///     all_gather      in P, out nP: the parts of all members, by rank
///     reduce_scatter  in nP, out P: the sum of all members' input for this member
///     all_reduce      in P, out P: the sum, or the larger or smaller of all
///     all_to_all      in nP, out nP: part i goes to member i and comes from it
///     permute         in P goes to `to`, out P comes from `from`; -1 for none. In a send, all other members have none
///     gather          in P; out nP at the root. scatter: in nP at the root; out P. broadcast: in P at the root; out P
///
/// `in` and `out` do not overlap.
struct Exchange {
    CollectiveKind kind = CollectiveKind::all_gather;
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::size_t part = 0;       ///< bytes
    Dtype dtype = Dtype::bf16;  ///< dtype of what is summed; a part consists of whole elements
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
    /// Makes progress; returns whether the exchange is done.
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
    /// The largest number of bytes that one call moves through one member; exchange() below divides larger exchanges.
    [[nodiscard]] virtual std::size_t max_bytes() const = 0;
    [[nodiscard]] virtual Status run(const Exchange& exchange) = 0;
    [[nodiscard]] virtual Result<std::unique_ptr<PendingExchange>> start(const Exchange& exchange) = 0;
    /// Makes new groups: the members with the same colour, ordered by key, form a group.
    [[nodiscard]] virtual Result<std::unique_ptr<Communicator>> split(int color, int key) = 0;
};

/// Bytes of the input and of the output of an exchange at the member with the most.
[[nodiscard]] std::size_t input_bytes(CollectiveKind kind, std::size_t part, int members);
[[nodiscard]] std::size_t output_bytes(CollectiveKind kind, std::size_t part, int members);

/// Runs an exchange of any size, in pieces if it is larger than the group allows. Errors: a sum of a dtype that cannot
/// be summed; the group fails.
[[nodiscard]] Status exchange(Communicator& group, const Exchange& whole);

/// A library that starts processes as one group: an MPI.
class RankLibrary {
public:
    RankLibrary() = default;
    RankLibrary(const RankLibrary&) = delete;
    RankLibrary& operator=(const RankLibrary&) = delete;
    virtual ~RankLibrary() = default;

    /// The group of all ranks that were started together; the first call initialises it. It lives as long as the
    /// process.
    [[nodiscard]] virtual Result<Communicator*> world() = 0;
    /// Name and version, e.g. "Open MPI 4.1.4".
    [[nodiscard]] virtual std::string name() = 0;
    /// An identifier that all ranks on a host share and no other ranks have. It is not meant to be shown to users.
    [[nodiscard]] virtual std::string host() = 0;
    /// Leaves the group; no calls are allowed afterwards.
    virtual void end() = 0;
};

}  // namespace roofline::core
