// Places that chips hand on to the next: what stands before their shares or behind them, and sums of it back again.
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

/// The permutes to the next that Message::hops counts. In hop h each chip sends on what the next needs of the chip h - 1 before it:
/// first of its own, then of what it has got. `back`: the other way round, from the farthest on, and each adds to its own sums.
class HaloExchange {
public:
    /// `edged`: how chips have the array with the places of others. The group is that of the axes that split the dimension.
    HaloExchange(MeshRanks& ranks, Communicator& group, const HeldShard& edged, const std::vector<std::int64_t>& sizes,
                 Dtype dtype, bool back);

    /// `in`: the share alone, and `out` with the edge; of what goes back the other way round.
    [[nodiscard]] Status run(const std::byte* in, std::byte* out);
    /// The first hop in the background, the others in finish().
    [[nodiscard]] Status start(const std::byte* in, std::byte* out);
    [[nodiscard]] Result<bool> done();
    [[nodiscard]] Status finish();

private:
    struct Hop {
        std::size_t part = 0;  ///< bytes, the same for all
        Box sent, got;
        int to = -1;  ///< ranks of the group; none at the ends
        int from = -1;
    };

    void prepare(MeshRanks& ranks, const HeldShard& edged, const std::vector<std::int64_t>& sizes);
    void begin(const std::byte* in, std::byte* out);
    [[nodiscard]] Exchange packed(const Hop& hop);
    void take(const Hop& hop);
    [[nodiscard]] Status rest(std::size_t first);

    Communicator* group_;
    std::size_t element_ = 1;
    Dtype dtype_;
    bool back_ = false;
    Box own_, edged_;
    std::vector<Hop> hops_;
    std::vector<std::byte> sent_, got_, sums_;
    std::byte* edges_ = nullptr;  ///< the array with the edge: `out`, or sums that go back
    std::byte* out_ = nullptr;
    std::unique_ptr<PendingExchange> pending_;
};

}  // namespace roofline::core
