// An operation and its collectives in pieces, so that one piece is communicated while another is computed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "layout/op_strategies.hpp"
#include "measure/network/local_op.hpp"
#include "measure/network/shard_moves.hpp"
#include "measure/run/device.hpp"

namespace roofline::core {

/// The steps of one array, run one after the other in the background.
class MoveChain {
public:
    /// Allocates the result of each step but the last, which writes where start() says; there may be no steps.
    [[nodiscard]] static Result<MoveChain> make(MeshRanks& ranks, const std::vector<ShardMove::What>& steps,
                                                Device& device, std::vector<void*>& memory);

    [[nodiscard]] bool empty() const { return moves_.empty(); }
    [[nodiscard]] Status start(const void* in, void* out);
    [[nodiscard]] Status poll();  ///< starts the next step when one is done
    [[nodiscard]] Status finish();

private:
    [[nodiscard]] Status start_step();

    std::vector<std::unique_ptr<ShardMove>> moves_;
    std::vector<void*> between_;
    std::size_t at_ = 0;  ///< the current step; beyond the last: none
    const void* in_ = nullptr;
    void* out_ = nullptr;
};

/// The sharding of a tensor before its first step, and its steps; for the result, the steps after it was computed.
struct TensorSteps {
    HeldShard held;
    std::vector<ShardMove::What> steps;
    void* memory = nullptr;  ///< of an operand before its steps; of the result after them
    bool fixed = false;      ///< the same numbers in every run
};

/// Choices of experts for an operation that has none of its own.
struct ExternalChoices {
    Operand operand;
    const void* memory = nullptr;
};

class OverlappedOp {
public:
    OverlappedOp(const OverlappedOp&) = delete;
    OverlappedOp& operator=(const OverlappedOp&) = delete;
    ~OverlappedOp();

    /// Cuts a dimension of the result that no step splits into 8, 4 or 2 pieces. Null if there is no such dimension or
    /// nothing to exchange. `tensors` holds the operands in order, then the result. All ranks call it together.
    [[nodiscard]] static Result<std::unique_ptr<OverlappedOp>> make(
        const Program& program, const OpStrategies& ways, const Strategy& way, MeshRanks& ranks, Device& device,
        std::vector<TensorSteps> tensors, std::optional<ExternalChoices> choices = std::nullopt);

    [[nodiscard]] Status run();
    [[nodiscard]] int pieces() const { return static_cast<int>(pieces_.size()); }

private:
    /// A tensor of one piece: a part of its shard along the dimension that is cut, with its own steps.
    struct PieceTensor {
        bool cut = false;
        Box shard;              ///< the whole shard, from 0
        Box part;               ///< the part of it
        bool in_place = false;  ///< the part is contiguous in the shard
        bool copied = false;    ///< copied once, before the first run
        void* part_memory = nullptr;
        void* moved_memory = nullptr;  ///< memory that the operation reads or writes
        MoveChain chain;
    };
    struct Piece {
        std::shared_ptr<LocalOp> local;
        std::vector<PieceTensor> tensors;
        std::vector<const void*> inputs;
    };

    OverlappedOp(const Program& program, const OpStrategies& ways, const Strategy& way, MeshRanks& ranks,
                 Device& device, std::vector<TensorSteps> tensors)
        : program_(program), ways_(ways), way_(way), ranks_(ranks), device_(device), tensors_(std::move(tensors)) {}

    [[nodiscard]] const Operand& operand(std::size_t tensor) const;
    [[nodiscard]] std::optional<std::size_t> place(std::size_t tensor, const std::string& dim) const;
    [[nodiscard]] bool stays(std::size_t tensor) const {
        return tensors_[tensor].fixed && tensors_[tensor].steps.empty();
    }
    [[nodiscard]] bool may_cut(const std::string& dim) const;
    [[nodiscard]] int pieces_of(const std::string& dim) const;
    Status prepare(const std::string& dim, int pieces);
    Result<Piece> piece(const std::string& dim, int pieces, int index);
    Result<std::shared_ptr<LocalOp>> local_of(const std::string& dim, int pieces);
    Result<PieceTensor> piece_tensor(std::size_t tensor, const std::string& dim, int pieces, int index);
    Result<void*> allocate(std::size_t bytes);
    Status start_inputs(Piece& piece);
    Status finish_inputs(Piece& piece);

    const Program& program_;
    const OpStrategies& ways_;
    const Strategy& way_;
    MeshRanks& ranks_;
    Device& device_;
    std::vector<TensorSteps> tensors_;
    std::optional<ExternalChoices> choices_;
    std::vector<MoveChain> whole_;     ///< of operands that lack the dimension
    std::vector<void*> whole_memory_;  ///< the results of those steps
    std::vector<Piece> pieces_;
    std::vector<void*> memory_;
};

}  // namespace roofline::core
