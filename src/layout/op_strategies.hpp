// The legal strategies for one operation on a mesh, with their costs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "bound/times.hpp"
#include "layout/choice_costs.hpp"
#include "layout/reshard.hpp"
#include "layout/sharding.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The resharding of one tensor of an operation.
struct TensorMove {
    std::size_t tensor = 0;      ///< index: operands in order, then the result, then the statistics of its rows
    std::size_t resharding = 0;  ///< index into Reshardings
};

/// The mesh axes over which the data that a strategy looks back on lies on neighbouring chips; empty: it needs none.
struct StrategyHalo {
    AxisList axes;
    std::size_t which = 0;  ///< which of the dimensions the operation looks back on

    [[nodiscard]] bool none() const { return axes.empty(); }
};

/// A chip's part of a dimension (LocalDim): its shard over these axes, and the halo of other chips' positions before it
/// or after it.
struct DimShare {
    AxisList axes;
    std::optional<Halo> halo{};
    std::int64_t before = 0;
    std::int64_t behind = 0;
};

/// Partial sums that pass through an operation which is linear in some of its operands, and come out unreduced.
struct Open {
    AxisMask axes = 0;
    std::uint32_t operands = 0;  ///< one bit for each operand that is unreduced over these axes

    bool operator==(const Open&) const = default;
    [[nodiscard]] bool has(std::size_t operand) const { return operand < 32 && (operands >> operand & 1U) != 0; }
};

/// A strategy says how the dimensions of the operation are split, or which chip runs it alone, and therefore what has
/// to move before and after.
struct Strategy {
    std::vector<AxisList> split;  ///< by dimension of the operation
    StrategyHalo halo;
    Open open;
    std::int64_t at = Sharding::everywhere;
    std::vector<TensorMove> moves;  ///< of operands, of row statistics, then of the result
    Sharding output;                ///< the final sharding of the result
    std::vector<double> cost;       ///< see ChoiceCosts
    LayoutPrice price;
};

/// What a search knows of the rest of a program while it examines one operation. Strategies that cannot lead to a
/// better layout than the best one so far are left out.
struct SearchLimit {
    AxisMask axes = 0;           ///< mesh axes that any dimension may be split over
    LayoutPrice least;           ///< of the best layout so far
    bool alone = false;          ///< the operation is the whole program, and its result has the wanted sharding
    std::vector<double> others;  ///< minimum cost of all other operations
    double count = 1;            ///< how often the operation is executed
    std::int64_t* evaluations = nullptr;  ///< how many more candidates all operations together may examine
};

/// Which tensors of an operation cross memory: not those that stay inside its statement or fuse block, and a tensor
/// that a kernel reads twice only the first time.
struct Stored {
    std::vector<bool> inputs;
    bool output = true;
};

/// All properties of an operation that its strategies depend on. The names of tensors are not among them.
struct OpShape {
    std::vector<std::string> dims;
    Program program;  ///< of this operation only; its dimensions are numbered, in the order of `dims`
    /// The strategies depend on the sizes of some dimensions, or name them: masks, halos, the order of a product.
    bool named = false;

    bool operator==(const OpShape&) const = default;
    /// Whether operations differ at most in the names of dimensions.
    [[nodiscard]] bool alike(const OpShape& other) const {
        return !named && program.body == other.program.body && program == other.program;
    }
};
[[nodiscard]] OpShape op_shape(const Program& program, const Op& op, const Stored& stored);

/// Whether the sums of an intermediate may stay unreduced up to the result of its statement, because no later operation
/// needs them complete.
[[nodiscard]] bool stays_open(const Statement& statement, std::size_t op);
/// The same for a value that the statement reads, or makes, before the operation `first`.
[[nodiscard]] bool stays_open(const Statement& statement, std::size_t first, ValueId value);

/// An operation, compiled because thousands of its layouts are examined.
///
/// Every dimension may be split as one of the operands has it, or as the result is wanted; if the sharding of the
/// result is free, also as that dimension is split elsewhere in the program. Under a SearchLimit the dimensions of
/// contractions and elementwise work may be split over any of its axes. Operands are resharded to the split, each chip
/// does its share, and the result (unreduced where a summed dimension is split) is resharded to the wanted sharding.
/// Where the rows of a function are split, chips all-reduce the statistics of each row that the table of functions
/// lists (RowStatistics), in the accumulator's dtype: for a softmax the maximum and the sum. Dimensions along which
/// other functions work stay whole, except for masks. Collectives work in device memory. A tensor in host memory is
/// loaded in the sharding that it has there; if every host has the whole tensor, each chip loads a share, either as the
/// result is wanted, or one share per chip.
///
/// The table of a gather may be split along the looked-up dimension: each chip has zeros for the rows of other chips,
/// and the results are summed. Rows that are dispatched to experts keep their order within their groups, and return to
/// it. Of the rows that a scatter writes, each chip takes those of its shard; they stay on their chips if as many are
/// written as the tensor has, because they are assumed to be in order then.
///
/// A result that is wanted on one chip is computed by that chip, to which its operands are brought. Otherwise the chip
/// that holds an operand may do the work alone, where the question allows it.
class OpStrategies {
public:
    /// Errors: work that does not fit 127 bits, a dtype without a unit.
    static Result<OpStrategies> compile(const Program& program, const Op& op, const Stored& stored, ChoiceCosts& costs,
                                        Reshardings& reshardings);

    [[nodiscard]] const std::vector<std::string>& dims() const { return dims_; }
    /// All symbols that costs depend on: the dimensions, then the windows of masks.
    [[nodiscard]] const std::vector<std::string>& symbols() const { return symbols_; }
    [[nodiscard]] const Op& op() const { return *op_; }

    /// Sets the mesh axes over which each tensor (operands, then the result) keeps its sharding.
    void stay(std::vector<AxisMask> axes) { stays_ = std::move(axes); }

    /// Sets how dimensions, in the order of dims(), are split elsewhere in the program.
    void lie(const std::vector<std::vector<AxisList>>& elsewhere);

    /// Returns the same for another operation of the program whose op_shape() is equal or alike. stay() and lie() have
    /// to be called for it.
    [[nodiscard]] OpStrategies renamed(const Program& program, const Op& op) const;

    /// Sets the sizes for all following calls; every dimension must be among them.
    void set_sizes(const Sizes& sizes);

    /// Returns a chip's part of a dimension in an operand (operands, then the result), or, without a tensor, in the
    /// function that works along it. `system` has the sizes of the mesh axes.
    [[nodiscard]] LocalDim local_dim(const Strategy& strategy, std::size_t dim, std::optional<std::size_t> tensor,
                                     const System& system) const;
    [[nodiscard]] DimShare dim_share(const Strategy& strategy, std::size_t dim,
                                     std::optional<std::size_t> tensor) const;
    /// The sharding in which a strategy uses an operand; of the result, the sharding in which it is computed (unreduced
    /// where a summed dimension is split); of row statistics, that of their parts. Halos (dim_share()) are left out.
    [[nodiscard]] Sharding used(const Strategy& strategy, std::size_t operand) const {
        return sharding(operand, plan_of(strategy));
    }
    [[nodiscard]] Sharding made(const Strategy& strategy) const { return made(plan_of(strategy)); }
    [[nodiscard]] Sharding part_statistics(const Strategy& strategy) const {
        return part_statistics(plan_of(strategy));
    }
    /// The halo of every strategy that has one.
    [[nodiscard]] const Halo& halo() const { return looks_.front().halo; }

    struct Question {
        std::span<const Sharding> held;  ///< shardings of the operands
        std::optional<Sharding> wanted;  ///< required sharding of the result, if any
        /// Splits of each dimension, in the order of dims(), in other statements.
        std::span<const std::vector<AxisList>> elsewhere;
        bool alone = false;  ///< a chip that holds an operand may run it alone
        bool open = false;   ///< sums in the result may stay unreduced
        bool all = false;   ///< if false, strategies that are dominated by another with the same result may be left out
        AxisMask keep = 0;  ///< sums over these axes stay unreduced because they are completed later
        const SearchLimit* limit = nullptr;  ///< allows any split over its axes, unless it cannot be better
        std::vector<bool> free{};            ///< by operand: an earlier operation has left it in its best sharding
        bool in_part = false;                ///< LayoutFreedom::in_part
    };
    /// Returns the strategies, best first; under a limit there may be none. Errors: no strategy is legal.
    [[nodiscard]] Result<std::vector<Strategy>> strategies(const Question& question);
    /// Returns the minimum cost of a chip's share when dimensions are split over any of these axes.
    [[nodiscard]] std::vector<double> least_share(AxisMask axes);

    [[nodiscard]] const std::string& tensor_name(std::size_t tensor) const { return moved(tensor).name; }
    /// The dimensions of a tensor that moves (see TensorMove), and the bytes of each element.
    [[nodiscard]] std::vector<std::string> moved_dims(std::size_t tensor) const;
    [[nodiscard]] const Rational& sure_share(std::size_t tensor) const { return moved(tensor).sure; }
    [[nodiscard]] const Rational& moved_bytes(std::size_t tensor) const { return moved(tensor).element_bytes; }

private:
    struct MovedTensor {
        std::string name;               ///< its name in reports
        bool in_host = false;           ///< in host memory
        std::vector<std::size_t> dims;  ///< indices into dims_
        Rational element_bytes;
        Rational sure{1};       ///< Message::sure
        std::size_t shape = 0;  ///< in Reshardings
    };
    /// One call: the question, and the results so far.
    struct Query {
        const Question& asked;
        std::vector<std::vector<AxisList>> choices;  ///< by dimension
        std::vector<AxisList> split;                 ///< under construction
        std::vector<AxisList> splits;                ///< all of them, one per row
        std::vector<std::int64_t> places;            ///< by row
        std::vector<Strategy> found;
        /// Their indices, by the hash of the result.
        std::unordered_map<std::uint64_t, std::vector<std::size_t>> nondominated{};
        std::optional<Error> problem;
        LayoutPrice least{};  ///< price of a known layout; only with a limit
    };

    /// How the operation is executed.
    struct Plan {
        std::span<const AxisList> split;
        std::int64_t at = Sharding::everywhere;
        Open open{};
        StrategyHalo halo{};
    };

    struct Compiled {
        CompiledTimes times;
        std::vector<std::size_t> slots;  ///< by resource
    };
    /// What a chip needs of other chips beside its shard. With the window of a causal mask, the rows of a chip see the
    /// columns at their positions and the W - 1 before these, and columns are seen by as many rows after them.
    /// Functions that look back need earlier positions of the dimension that they work along.
    struct Looks {
        std::size_t dim = 0;                ///< index into dims_: columns, rows, or the dimension of the function
        std::optional<std::size_t> across;  ///< with a window: the other dimension of its plane
        Halo halo;                          ///< the positions of other chips
        bool behind = false;                ///< the positions are after a chip's shard, not before it
        std::vector<bool> with_halo;        ///< by tensor: it has the dimension, and lacks the other one
        /// How the dimension is split elsewhere: in order like the other one, or with bands shared evenly.
        std::vector<AxisList> lie;
        double count = 0;  ///< of positions
        Compiled compiled;
    };

    /// A tensor goes from one sharding to another; `places` are the reshardings that do it.
    struct Leg {
        std::size_t tensor = 0;
        Sharding from;
        Sharding to;
        std::optional<TensorHalo> halo;
    };

    static std::string name_of(const Program& program, const Operand& operand);
    static Plan plan_of(const Strategy& strategy) {
        return {strategy.split, strategy.at, strategy.open, strategy.halo};
    }
    [[nodiscard]] Status compile_times(const Program& program, const Stored& stored, ChoiceCosts& costs);
    [[nodiscard]] const MovedTensor& moved(std::size_t tensor) const {
        return tensor < tensors_.size() ? tensors_[tensor] : *statistics_;
    }
    void add_statistics();
    void name_statistics();
    void look_back(const Program& program);
    void look_over(const MaskedPlane& plane);
    static bool has_halo(const Looks& looks, std::size_t dim, std::optional<std::size_t> tensor);
    [[nodiscard]] AxisList halo_axes(const Looks& looks, std::span<const AxisList> split) const;
    [[nodiscard]] StrategyHalo halo_of(std::span<const AxisList> split) const;
    [[nodiscard]] bool in_reach(std::span<const AxisList> split) const;
    [[nodiscard]] std::optional<TensorHalo> halo_of_tensor(std::size_t tensor, const Plan& plan) const;
    [[nodiscard]] std::size_t place_of(const std::string& dim);
    [[nodiscard]] bool splittable(const std::string& dim) const;
    void tie_rows();
    [[nodiscard]] bool in_order(std::size_t dim, AxisList axes, const std::vector<AxisList>& split) const;
    void settle(std::vector<AxisList>& split) const;
    [[nodiscard]] std::vector<std::int64_t> places(const Question& question) const;
    void offer_loads(Query& query) const;
    void offer_choices(Query& query) const;
    void offer_parts(Query& query) const;
    void offer_any(Query& query, AxisMask axes) const;
    [[nodiscard]] bool splits_freely() const;
    void combine_choices(Query& query, std::size_t dim, AxisMask used) const;
    [[nodiscard]] Sharding sharding(std::size_t tensor, const Plan& plan) const;
    [[nodiscard]] Sharding made(const Plan& plan) const;
    [[nodiscard]] std::vector<Open> opens(const Question& question, std::span<const AxisList> split) const;
    [[nodiscard]] std::vector<Sharding> outputs(const Query& query, const Plan& plan) const;
    static void offer_outputs(const Sharding& whole, AxisMask used, AxisList sums, std::vector<Sharding>& outputs);
    static void place_any(const Sharding& whole, AxisList axes, std::size_t next, std::vector<Sharding>& outputs);
    [[nodiscard]] Sharding part_statistics(const Plan& plan) const;
    [[nodiscard]] Result<std::size_t> resharding(const Leg& leg);
    [[nodiscard]] Result<std::vector<std::size_t>> reshardings(const Leg& leg, const Query& query);
    [[nodiscard]] std::optional<std::vector<Leg>> legs(const Query& query, const Plan& plan,
                                                       const Sharding& output) const;
    [[nodiscard]] bool too_expensive(const Query& query, std::span<const double> cost) const;
    [[nodiscard]] Status go(Query& query, const Plan& plan, std::span<const Leg> legs, Strategy strategy);
    [[nodiscard]] Status take(Query& query, const Plan& plan, std::span<const Leg> legs, std::size_t place,
                              Strategy strategy);
    [[nodiscard]] bool stays(std::size_t tensor, const Sharding& from, const Sharding& to) const;
    void share_cost(const Plan& plan, std::span<double> cost);
    [[nodiscard]] bool dominated(const Query& query, const Strategy& strategy) const;
    [[nodiscard]] Status add_strategy(Query& query, const Plan& plan, const Sharding& output,
                                      std::span<const double> share);

    const Op* op_ = nullptr;
    ChoiceCosts* costs_ = nullptr;
    Reshardings* reshardings_ = nullptr;
    std::vector<std::string> dims_;
    std::vector<std::string> symbols_;
    std::vector<double> sizes_;              ///< by symbols_
    std::vector<MovedTensor> tensors_;       ///< operands, then the result
    std::optional<MovedTensor> statistics_;  ///< of the rows of a function, where chips exchange them
    int rounds_ = 0;                         ///< number of exchanges
    std::vector<bool> may_split_;
    std::vector<AxisMask> stays_;  ///< by tensor; empty: all may move
    struct TiedDim {
        std::size_t dim = 0;
        std::vector<std::size_t> from;  ///< indices into dims_; it has their axes one after another
    };
    std::optional<TiedDim> tied_;    ///< for rows in expert groups
    std::vector<std::size_t> rows_;  ///< for a gather and a scatter: dimensions of the indices that the tensor lacks
    std::size_t along_ = 0;          ///< likewise: the dimension that the indices point along
    bool writes_ = false;            ///< a scatter
    std::vector<std::uint32_t> linear_in_;  ///< sets of operands (Open::operands) whose partial sums give partial sums
    bool adds_ = false;  ///< an unreduced result is wanted wherever the operands are unreduced, not only where asked
    bool sums_ = true;   ///< dimensions that the result lacks have been summed
    std::vector<bool> banded_;  ///< it has a causal mask that leaves a band instead of half the plane
    std::vector<Looks> looks_;  ///< a strategy has at most one of them
    Compiled whole_;
    /// For bands of windows: chips share the unmasked part of a plane, and not every chip has a band.
    Compiled unmasked_;
    std::vector<double> bands_;  ///< by resource: the unmasked part of windows
    std::vector<double> seconds_;
    std::vector<double> shares_;
    std::vector<double> leg_cost_;  ///< of take()
};

}  // namespace roofline::core
