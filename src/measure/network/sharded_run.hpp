// A program that is split over a mesh, run by ranks: each holds its shards, does its share, and exchanges what the layout says.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "layout/layout_search.hpp"
#include "measure/network/local_op.hpp"
#include "measure/network/overlapped_op.hpp"
#include "measure/network/shard_moves.hpp"
#include "measure/run/device.hpp"
#include "measure/run/reference.hpp"
#include "measure/run/steps.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Something that all ranks do before any goes on: an operation, an exchange, or a part of what one has that it needs.
struct ShardedStage {
    std::string text;  ///< "all-reduce C over X", "matmul 64 x 2048 x 4096"
    bool exchange = false;
    bool beside = false;        ///< before the operation, which has it whole in pieces, too
    std::size_t op = 0;         ///< in the order in which they are done, those of every pass of a repeat
    std::size_t statement = 0;  ///< of the program, in order
    std::size_t first = 0;      ///< the stage that does the same in the first pass; itself outside of repeats
    LocalOp* local = nullptr;   ///< null for a move, and where another chip does it alone
    LocalOp* work = nullptr;    ///< the same, whoever does it
    ShardMove* move = nullptr;
    std::vector<const void*> inputs;
    void* output = nullptr;
    [[nodiscard]] Status run() const;

    std::size_t output_bytes = 0;  ///< of an operation; none where it writes into an operand
};

class ShardedRun {
public:
    ShardedRun(const ShardedRun&) = delete;
    ShardedRun& operator=(const ShardedRun&) = delete;
    ~ShardedRun();

    /// Lays the program out as lay_out() does, and gives this rank its shards of the inputs. All ranks call it with the same
    /// program; program and system outlive it. Errors, the same at all ranks: what lay_out() refuses, sizes that do not divide,
    /// more memory than is free, what the device cannot do.
    [[nodiscard]] static Result<std::unique_ptr<ShardedRun>> make(const Program& program, const System& system,
                                                                  Communicator& world, Device& device);

    /// The same in other memory: what it reads and writes, with the same numbers. All ranks call it.
    [[nodiscard]] static Result<std::unique_ptr<ShardedRun>> again(ShardedRun& first);
    [[nodiscard]] std::size_t bytes() const { return bytes_; }  ///< of shards, results and what is on its way

    /// Everything once, one stage after the other; or, with `overlapped`, each operation that can be so in pieces, whose exchanges run
    /// under the work on others. Errors: of an exchange.
    [[nodiscard]] Status run(bool overlapped = false);
    /// Of the operation with most pieces; 1 where none is cut.
    [[nodiscard]] int pieces() const;
    /// Results are no numbers any more, so that a check does not take those of an earlier run.
    void forget_results();
    [[nodiscard]] const std::vector<ShardedStage>& stages() const { return stages_; }

    /// Gathers what the last run made, of repeats in the last pass, and compares it with the program done whole, in double
    /// precision; at the first rank, the others get an empty result. Errors: interrupted.
    [[nodiscard]] Result<CheckResult> check(const CheckOptions& options);

    /// The whole array of a stored value as the last run left it, at the first rank; the others get nothing. All ranks call it.
    [[nodiscard]] Result<std::vector<char>> whole_of(ValueId value) { return gathered(value, values_[value]); }

    /// Relative error that partial sums explain, which are rounded to the dtype they are exchanged in.
    [[nodiscard]] double allowed_error() const { return allowed_error_; }

    [[nodiscard]] MeshRanks& ranks() { return ranks_; }

private:
    ShardedRun(const Program& program, const System& system, std::shared_ptr<MeshRanks> mesh, Device& device)
        : program_(program), system_(system), mesh_(std::move(mesh)), ranks_(*mesh_), device_(device) {}

    /// Where an array is, and how it lies.
    struct Place {
        void* memory = nullptr;
        HeldShard held;
    };
    /// What moves: a tensor of an operation, or the statistics of its rows.
    struct Array {
        std::string name;
        std::vector<std::int64_t> sizes;
        Dtype dtype = Dtype::f32;
        Reduction reduction = Reduction::sum;
    };
    struct At {
        std::size_t op = 0;  ///< of the program, as layouts count them
        std::size_t statement = 0;
        std::size_t instance = 0;  ///< of the run: another one in every pass
        std::size_t pass = 0;      ///< how often the operation has been added before
        std::size_t stages = 0;    ///< how many of them it has by now, and how many arrays
        std::size_t arrays = 0;
    };
    struct Frame {
        std::int64_t index = 0;
        std::int64_t count = 1;
    };
    /// What passes share of an operation: stages by number, and arrays, of which each second pass has its own, or, of what a later
    /// repeat reads, each.
    struct Shared {
        std::size_t passes = 0;
        std::vector<std::size_t> stages;
        std::map<std::size_t, std::vector<void*>> arrays;
        std::vector<std::shared_ptr<OverlappedOp>> pieces;
        std::vector<std::vector<void*>> cut;  ///< by pieces: the memory of its tensors
    };
    /// An operand as an operation has brought it somewhere.
    struct Brought {
        std::size_t instance = 0;
        Place place;
    };
    /// By value and resharding.
    using BroughtValues = std::map<std::pair<ValueId, std::size_t>, Brought>;

    Status prepare(const ShardedRun* first);
    Status choose();
    void keep_sums();
    Status check_memory() const;
    Status fill_inputs(const ShardedRun* first);
    Status fill_input(ValueId value, std::int64_t copy, void* memory);
    Status add_block(const Block& block, std::size_t& statement, std::size_t& index);
    Status add_repeat(const Block& block, std::size_t& statement, std::size_t& index);
    Status add_statement(const Statement& statement, std::size_t number, std::size_t& index);
    Status add_op(std::size_t index, std::size_t statement);
    void place_inputs();
    [[nodiscard]] std::size_t copy_of(ValueId value) const;
    Status add_overlapped(std::size_t index, std::vector<TensorSteps> tensors, std::optional<BesideOp> choices);
    Result<std::optional<BesideOp>> choices_beside();
    Status note_shares(const Operand& choices);
    Status add_rows(const std::vector<const TensorMove*>& moves, std::vector<const void*> inputs, const Array& result,
                    Place& made);
    Status add_local(OpShare share, const std::vector<const void*>& inputs, const Array& array, Place& made);
    Status add_stage(OpShare share, const std::vector<const void*>& inputs, void* output, std::size_t bytes);
    Result<Place> bring(std::size_t operand, const HeldShard& wanted, TensorSteps& taken);
    Result<Place> reshard(const Array& array, const Resharding* resharding, Place from, const HeldShard& to,
                          TensorSteps& taken);
    Result<Place> step(const Array& array, const Place& from, const HeldShard& to, const std::optional<Move>& how,
                       TensorSteps& taken);
    [[nodiscard]] std::vector<const TensorMove*> moves_of(std::size_t index, std::size_t tensor) const;
    [[nodiscard]] Result<Array> array_of(std::size_t index, std::size_t tensor) const;
    [[nodiscard]] std::size_t bytes_of(const Array& array, const HeldShard& held) const;
    void fill_masked(std::vector<char>& bytes, ValueId value, Dtype dtype) const;
    Result<void*> allocate(std::size_t bytes);
    Result<void*> room(std::size_t bytes);
    Result<LocalOp*> local_of(OpShare share, const std::vector<const void*>& inputs);
    void add(ShardedStage stage);
    Status pack();
    [[nodiscard]] Result<std::vector<std::int64_t>> sizes_of(const std::vector<std::string>& dims) const;
    [[nodiscard]] Result<std::vector<char>> gathered(ValueId value, const Place& place);

    const Program& program_;
    const System& system_;
    std::shared_ptr<MeshRanks> mesh_;
    MeshRanks& ranks_;
    Device& device_;
    Program computed_;  ///< with the dtypes in which what is made on the way is kept
    Program whole_;     ///< without the mesh
    StepProgram plan_;  ///< of that: what its inputs are filled with
    std::shared_ptr<const LayoutSearch> search_;
    ProgramLayout layout_;
    std::vector<Place> values_;
    std::vector<std::vector<void*>> inputs_;  ///< by value: the copies of what the program declares
    std::set<ValueId> by_pass_;               ///< see values_by_pass()
    std::map<ValueId, std::vector<Place>> made_by_pass_;
    std::vector<std::map<ValueId, Place>> read_;  ///< by statement: what it read and made in its last pass
    std::vector<const Statement*> whole_statements_;
    std::vector<void*> memory_;
    std::vector<std::unique_ptr<LocalOp>> locals_;
    std::vector<std::unique_ptr<ShardMove>> moves_;
    std::vector<ShardedStage> stages_;
    std::vector<std::shared_ptr<OverlappedOp>> overlapped_;  ///< by ShardedStage::op; null where it is not cut
    std::set<const void*> fixed_;                            ///< memory of the program's inputs
    double allowed_error_ = 0;
    std::size_t bytes_ = 0;
    At at_;                              ///< the operation that is being added
    std::vector<Frame> frames_;          ///< the repeats around it
    std::set<ValueId> handed_on_;        ///< values in whose place later passes read what earlier ones made
    std::vector<Shared> shared_;         ///< by operation of the program
    BroughtValues brought_;              ///< in the pass that is being added
    GroupShares shares_;                 ///< of groups of experts, by operation
    std::map<ValueId, ValueId> filled_;  ///< by choices: an operation that moves rows so
};

}  // namespace roofline::core
