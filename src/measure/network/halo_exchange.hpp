// Halo exchange: chips send the edges of their shards to their neighbours, or return the sums in their halos.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "measure/network/boxes.hpp"
#include "measure/network/communicator.hpp"
#include "measure/network/mesh_ranks.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// The permutes to the neighbour that Message::hops counts. In hop h each chip forwards what its neighbour needs from
/// the chip h - 1 before it: first its own elements, then received ones. With `back` the direction is reversed,
/// starting from the farthest chip, and each chip adds to its own sums.
class HaloExchange {
public:
    /// `with_halo` describes how chips hold the array including its halos. The group is that of the axes that split the
    /// dimension.
    HaloExchange(MeshRanks& ranks, Communicator& group, const HeldShard& with_halo,
                 const std::vector<std::int64_t>& sizes, Dtype dtype, bool back);

    /// `in` is the shard alone and `out` the shard with its halo; the other way round for `back`.
    [[nodiscard]] Status run(const std::byte* in, std::byte* out);
    /// Runs the first hop in the background and the others in finish().
    [[nodiscard]] Status start(const std::byte* in, std::byte* out);
    [[nodiscard]] Result<bool> done();
    [[nodiscard]] Status finish();

private:
    struct Hop {
        std::size_t part = 0;  ///< bytes, the same for all chips
        Box sent, got;
        int to = -1;  ///< ranks in the group; none at the ends
        int from = -1;
    };

    void prepare(MeshRanks& ranks, const HeldShard& with_halo, const std::vector<std::int64_t>& sizes);
    void begin(const std::byte* in, std::byte* out);
    [[nodiscard]] Exchange packed(const Hop& hop);
    void take(const Hop& hop);
    [[nodiscard]] Status rest(std::size_t first);

    Communicator* group_;
    std::size_t element_ = 1;
    Dtype dtype_;
    bool back_ = false;
    Box own_, with_halo_;
    std::vector<Hop> hops_;
    std::vector<std::byte> sent_, got_, sums_;
    std::byte* array_ = nullptr;  ///< the array with the halo: `out`, or the sums that are sent back
    std::byte* out_ = nullptr;
    std::unique_ptr<PendingExchange> pending_;
};

}  // namespace roofline::core
