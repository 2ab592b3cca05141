// A sharded program, run by ranks: each holds its shards, computes its share, and runs the collectives of the layout.
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

/// A stage is something that all ranks complete before any continues: an operation, a collective, or the preparation of
/// one of its inputs.
struct ShardedStage {
    std::string text;  ///< "all-reduce C over X", "matmul 64 x 2048 x 4096"
    bool exchange = false;
    bool beside = false;        ///< prepares a whole operand before the operation, even if it runs in pieces
    std::size_t op = 0;         ///< in execution order; every iteration of a repeat counts
    std::size_t statement = 0;  ///< index in the program
    std::size_t first = 0;      ///< the stage that does the same in the first iteration; itself outside of repeats
    LocalOp* local = nullptr;   ///< null for a move, and if another chip does the work alone
    LocalOp* work = nullptr;    ///< the same operation, whichever chip does it
    ShardMove* move = nullptr;
    std::vector<const void*> inputs;
    void* output = nullptr;
    [[nodiscard]] Status run() const;

    std::size_t output_bytes = 0;  ///< of an operation; none if it writes into an operand
};

class ShardedRun {
public:
    ShardedRun(const ShardedRun&) = delete;
    ShardedRun& operator=(const ShardedRun&) = delete;
    ~ShardedRun();

    /// Lays the program out as lay_out() does and gives this rank its shards of the inputs. All ranks call it with the
    /// same program; program and system must outlive it. Errors, the same on all ranks: those of lay_out(); sizes that
    /// are not divisible; more memory than is free; the device cannot run an operation.
    [[nodiscard]] static Result<std::unique_ptr<ShardedRun>> make(const Program& program, const System& system,
                                                                  Communicator& world, Device& device);

    /// Makes another copy of a run in other memory, with the same numbers. All ranks call it.
    [[nodiscard]] static Result<std::unique_ptr<ShardedRun>> again(ShardedRun& first);
    [[nodiscard]] std::size_t bytes() const { return bytes_; }  ///< shards, results and buffers

    /// Runs the program once, one stage after the other. With `overlapped`, operations that allow it run in pieces,
    /// whose collectives overlap with the computation of other pieces. Errors: an exchange fails.
    [[nodiscard]] Status run(bool overlapped = false);
    /// Number of pieces of the operation with the most; 1 if no operation is cut.
    [[nodiscard]] int pieces() const;
    /// Overwrites results with NaN so that a check cannot pass on the results of an earlier run.
    void invalidate_results();
    [[nodiscard]] const std::vector<ShardedStage>& stages() const { return stages_; }

    /// Gathers the results of the last run (in repeats, of the last iteration) and compares them with the unsharded
    /// program in double precision, on the first rank; other ranks get an empty result. Errors: interrupted.
    [[nodiscard]] Result<CheckResult> check(const CheckOptions& options);

    /// The whole array of a stored value after the last run, on the first rank; other ranks get nothing. All ranks call
    /// it.
    [[nodiscard]] Result<std::vector<char>> whole_of(ValueId value) { return gathered(value, values_[value]); }

    /// Relative error that is explained by partial sums, which are rounded to the dtype in which they are exchanged.
    [[nodiscard]] double allowed_error() const { return allowed_error_; }

    [[nodiscard]] MeshRanks& ranks() { return ranks_; }

private:
    ShardedRun(const Program& program, const System& system, std::shared_ptr<MeshRanks> mesh, Device& device)
        : program_(program), system_(system), mesh_(std::move(mesh)), ranks_(*mesh_), device_(device) {}

    /// Memory and sharding of an array.
    struct Place {
        void* memory = nullptr;
        HeldShard held;
    };
    /// An array that is exchanged: a tensor of an operation, or the statistics of its rows.
    struct Array {
        std::string name;
        std::vector<std::int64_t> sizes;
        Dtype dtype = Dtype::f32;
        Reduction reduction = Reduction::sum;
    };
    struct At {
        std::size_t op = 0;  ///< index in the program, as layouts count
        std::size_t statement = 0;
        std::size_t instance = 0;  ///< index in the run: every iteration has its own
        std::size_t pass = 0;      ///< number of times that the operation was added before
        std::size_t stages = 0;    ///< number of stages that it has so far, and of arrays
        std::size_t arrays = 0;
    };
    struct Frame {
        std::int64_t index = 0;
        std::int64_t count = 1;
    };
    /// What iterations share of an operation: stages by number, and arrays. Alternate iterations have their own arrays;
    /// every iteration has its own if a later repeat reads them.
    struct Shared {
        std::size_t passes = 0;
        std::vector<std::size_t> stages;
        std::map<std::size_t, std::vector<void*>> arrays;
        std::vector<std::shared_ptr<OverlappedOp>> pieces;
        std::vector<std::vector<void*>> cut;  ///< by piece: the memory of its tensors
    };
    /// An operand after an operation has resharded it.
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
    Status add_overlapped(std::size_t index, std::vector<TensorSteps> tensors, std::optional<ExternalChoices> choices);
    Result<std::optional<ExternalChoices>> external_choices();
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
    Program computed_;  ///< with the dtypes in which intermediates are stored
    Program whole_;     ///< without the mesh
    StepProgram plan_;  ///< steps of the whole program: they say what its inputs are filled with
    std::shared_ptr<const LayoutSearch> search_;
    ProgramLayout layout_;
    std::vector<Place> values_;
    std::vector<std::vector<void*>> inputs_;  ///< by value: the copies of the program's inputs
    std::set<ValueId> by_pass_;               ///< see values_by_pass()
    std::map<ValueId, std::vector<Place>> made_by_pass_;
    std::vector<std::map<ValueId, Place>> read_;  ///< by statement: what it read and made in its last iteration
    std::vector<const Statement*> whole_statements_;
    std::vector<void*> memory_;
    std::vector<std::unique_ptr<LocalOp>> locals_;
    std::vector<std::unique_ptr<ShardMove>> moves_;
    std::vector<ShardedStage> stages_;
    std::vector<std::shared_ptr<OverlappedOp>> overlapped_;  ///< by ShardedStage::op; null if it is not cut
    std::set<const void*> fixed_;                            ///< memory of the program's inputs
    double allowed_error_ = 0;
    std::size_t bytes_ = 0;
    At at_;                              ///< the operation that is being added
    std::vector<Frame> frames_;          ///< the repeats around it
    std::set<ValueId> handed_on_;        ///< values that an iteration carries to later ones
    std::vector<Shared> shared_;         ///< by operation of the program
    BroughtValues brought_;              ///< in the current iteration
    GroupShares shares_;                 ///< shares of expert groups, by operation
    std::map<ValueId, ValueId> filled_;  ///< by choices: an operation that moves rows by them
};

}  // namespace roofline::core
