// Executes the steps from one sharding to another that the layout derives, between ranks that hold shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "layout/reshard.hpp"
#include "layout/sharding.hpp"
#include "measure/network/boxes.hpp"
#include "measure/network/communicator.hpp"
#include "measure/network/halo_exchange.hpp"
#include "measure/network/mesh_ranks.hpp"

namespace roofline::core {

/// One step of one array, with buffers for packed data. All ranks make it together.
class ShardMove {
public:
    struct What {
        HeldShard from;
        HeldShard to;
        std::optional<Move> move;         ///< none for a slice, and for partial sums made with zeros
        std::vector<std::int64_t> sizes;  ///< of the whole array
        Dtype dtype = Dtype::f32;
        Reduction reduction = Reduction::sum;  ///< how partial results are combined
    };

    /// Errors: sizes that are not divisible, elements smaller than a byte, sums of a dtype that cannot be summed.
    [[nodiscard]] static Result<ShardMove> make(MeshRanks& ranks, What what);

    [[nodiscard]] std::size_t bytes_before() const { return before_.elements() * element_; }
    [[nodiscard]] std::size_t bytes_after() const { return after_.elements() * element_; }
    /// Returns whether any rank communicates in this step.
    [[nodiscard]] bool exchanges() const { return what_.move.has_value(); }

    /// Runs the step: `in` is this rank's shard before it, `out` the shard after it.
    [[nodiscard]] Status run(const std::byte* in, std::byte* out);
    /// Starts the step in the background; finish() completes it. Steps that cannot run in the background run entirely
    /// in finish().
    [[nodiscard]] Status start(const std::byte* in, std::byte* out);
    [[nodiscard]] Result<bool> done();
    [[nodiscard]] Status finish();

private:
    ShardMove(MeshRanks& ranks, What what) : ranks_(&ranks), what_(std::move(what)) {}
    Status prepare();
    [[nodiscard]] bool keeps_numbers() const;
    void prepare_parts(const std::vector<std::int64_t>& members);
    Status prepare_rooted();
    void pack(const std::byte* in);
    void unpack(std::byte* out) const;
    [[nodiscard]] Exchange exchange_of(const std::byte* in, std::byte* out);

    MeshRanks* ranks_;
    What what_;
    std::size_t element_ = 1;
    Box before_;
    Box after_;
    bool keeps_ = true;              ///< in a step without an exchange: this rank keeps its numbers instead of zeros
    Communicator* group_ = nullptr;  ///< null for a rank that does not take part
    std::unique_ptr<Communicator> own_group_;
    std::optional<HaloExchange> halo_;
    Exchange exchange_;
    std::vector<Box> in_parts_;   ///< by member: what goes to it, packed in this order; empty if no packing is needed
    std::vector<Box> out_parts_;  ///< by member: what comes from it
    std::vector<std::byte> packed_in_;
    std::vector<std::byte> packed_out_;
    std::unique_ptr<PendingExchange> pending_;
    const std::byte* in_ = nullptr;
    std::byte* out_ = nullptr;
};

}  // namespace roofline::core
