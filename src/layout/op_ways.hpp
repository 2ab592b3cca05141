// The legal ways to do one operation on a mesh, with their costs.
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

/// A tensor of an operation is resharded.
struct TensorMove {
    std::size_t tensor = 0;      ///< its operands in order, then its result, then the statistics of its rows
    std::size_t resharding = 0;  ///< place in Reshardings
};

/// What a way looks back on lies over these axes on the chips before, or behind; none: it needs none of them.
struct WayEdge {
    AxisList axes;
    std::size_t which = 0;  ///< of what the operation looks back on

    [[nodiscard]] bool none() const { return axes.empty(); }
};

/// How a chip has a dimension of a tensor: a share over these axes, and so many places of others before it or behind it, which
/// `places` says in symbols.
struct DimShare {
    AxisList axes;
    std::string places{};
    std::int64_t before = 0;
    std::int64_t behind = 0;
};

/// Partial sums that go through an operation which is linear in some of its operands, and come out as such.
struct Open {
    AxisMask axes = 0;
    std::uint32_t operands = 0;  ///< that are partial sums over these axes, a bit each

    bool operator==(const Open&) const = default;
    [[nodiscard]] bool has(std::size_t operand) const { return operand < 32 && (operands >> operand & 1U) != 0; }
};

/// One way: how the operation's dimensions are split, or which chip does it alone, and so what has to move before and after.
struct Way {
    std::vector<AxisList> split;  ///< by the operation's dimensions
    WayEdge edge;
    Open open;
    std::int64_t at = Sharding::everywhere;
    std::vector<TensorMove> moves;  ///< of operands, of its rows' statistics, then of the result
    Sharding output;                ///< where the result ends up
    std::vector<double> cost;       ///< see ChoiceCosts
    LayoutPrice price;
};

/// What a search knows of the rest of a program while it looks at one operation: ways with which no layout can be better than
/// one that it has are left out.
struct SearchLimit {
    AxisMask axes = 0;              ///< the mesh axes that any dimension may be split over
    LayoutPrice least;              ///< of the best layout so far
    bool alone = false;             ///< the operation is all of the program, with its result where it is wanted
    std::vector<double> others;     ///< what all other operations cost at the least
    double count = 1;               ///< how often the operation is done
    std::int64_t* steps = nullptr;  ///< that may still be taken, by all operations together
};

/// Which of an operation's tensors cross memory in it: not what stays inside its statement or fuse block, and what a kernel
/// reads twice only the first time.
struct Stored {
    std::vector<bool> inputs;
    bool output = true;
};

/// All of an operation that its ways depend on, as a program of it alone: not what its tensors are called.
[[nodiscard]] Program op_shape(const Program& program, const Op& op, const Stored& stored);

/// Whether the sums of an intermediate may go on to its statement's result as partial sums: nothing behind it needs them complete.
[[nodiscard]] bool stays_open(const Statement& statement, std::size_t op);

/// An operation, compiled: choices of its layout are looked at by the thousand.
///
/// Every dimension may be split as one of the operands has it there, or as the result is wanted; a result that may lie anywhere
/// also as that dimension is split elsewhere in the program. Under a SearchLimit dimensions of products and elementwise work may be
/// split over any of its axes. Operands are resharded to the split, each chip does its share, and
/// what comes out (partial sums where a summed dimension is split) is resharded to where the result is wanted. Where a function's
/// rows are split, chips all-reduce what its table says of each row (RowStatistics), in the dtype in which sums are accumulated: of
/// a softmax the maximum and the sum. Dimensions along which another function works stay whole, but for masks. Collectives work in
/// device memory. A tensor in the host's memory is loaded as it lies, or of one that all hosts have whole each chip loads a share:
/// as the result is wanted, or one for each chip.
///
/// A table that is gathered from may be split along the looked-up dimension: each chip has zeros for the rows of others, and the
/// results add up. Rows that go to experts lie in their groups as they did before, and come back so. Of rows that a scatter writes
/// each chip takes those that fall to it; they stay where they are if as many are written as there are, in order then.
///
/// A result that is wanted at one chip is made by that chip, to which its operands are brought. Without that, the chip that
/// holds an operand may do the work alone where the question allows it.
class OpWays {
public:
    /// Errors: work that does not fit 127 bits, a dtype without a unit.
    static Result<OpWays> compile(const Program& program, const Op& op, const Stored& stored, ChoiceCosts& costs,
                                  Reshardings& reshardings);

    [[nodiscard]] const std::vector<std::string>& dims() const { return dims_; }
    /// All that costs depend on: the dimensions, then the windows of masks.
    [[nodiscard]] const std::vector<std::string>& symbols() const { return symbols_; }
    [[nodiscard]] const Op& op() const { return *op_; }

    /// Mesh axes over which each tensor, operands then the result, is used or made as it lies.
    void stay(std::vector<AxisMask> axes) { stays_ = std::move(axes); }

    /// How dimensions, by dims(), are split elsewhere in the program.
    void lie(const std::vector<std::vector<AxisList>>& elsewhere);

    /// The same for another operation of the program, of which op_shape() is equal; neither has been told axes that stay.
    [[nodiscard]] OpWays renamed(const Program& program, const Op& op) const;

    /// Sizes for all that follows; every dimension must be among them.
    void set_sizes(const Sizes& sizes);

    /// A dimension of a chip's share under the name that an operand has it by (operands, then the result), or, without one, the
    /// function that works along it.
    [[nodiscard]] std::string local_name(const Way& way, std::size_t dim, std::optional<std::size_t> tensor) const;
    [[nodiscard]] DimShare dim_share(const Way& way, std::size_t dim, std::optional<std::size_t> tensor) const;
    /// How a way wants an operand before it works, and what it then has: of the result, partial sums where a summed dimension is
    /// split, and of the statistics of rows, those of its parts. Edges (dim_share()) are left out.
    [[nodiscard]] Sharding used(const Way& way, std::size_t operand) const { return sharding(operand, plan_of(way)); }
    [[nodiscard]] Sharding made(const Way& way) const { return made(plan_of(way)); }
    [[nodiscard]] Sharding part_statistics(const Way& way) const { return part_statistics(plan_of(way)); }
    /// The places of an edge (edge_of()): there are some where a way has one.
    [[nodiscard]] const std::string& edge_text() const { return looks_.front().places; }

    struct Question {
        std::span<const Sharding> held;                    ///< how the operands lie
        std::optional<Sharding> wanted;                    ///< how the result must lie, if it must
        std::span<const std::vector<AxisList>> elsewhere;  ///< splits of each dimension, by dims(), in other statements
        bool alone = false;                                ///< a chip that holds an operand may do it alone
        bool open = false;                                 ///< sums in the result may stay partial
        bool all = false;   ///< else those that another with the same result beats in every respect may be left out
        AxisMask keep = 0;  ///< over these axes they stay so: what is added up later is not completed before
        const SearchLimit* limit = nullptr;  ///< any split over its axes, unless it cannot be better
        std::vector<bool> free{};            ///< by operand: an earlier operation has left it where it was best
    };
    /// The ways, best first; under a limit there may be none. Errors: no way is legal.
    [[nodiscard]] Result<std::vector<Way>> ways(const Question& question);
    /// What a chip's share costs at the least when dimensions are split over any of these axes.
    [[nodiscard]] std::vector<double> least_share(AxisMask axes);

    [[nodiscard]] const std::string& tensor_name(std::size_t tensor) const { return moved(tensor).name; }
    /// What moves of a tensor (see TensorMove): its dimensions, and the bytes of each element.
    [[nodiscard]] std::vector<std::string> moved_dims(std::size_t tensor) const;
    [[nodiscard]] const Rational& sure_share(std::size_t tensor) const { return moved(tensor).sure; }
    [[nodiscard]] const Rational& moved_bytes(std::size_t tensor) const { return moved(tensor).element_bytes; }

private:
    struct MovedTensor {
        std::string name;               ///< what reports call it
        bool in_host = false;           ///< in the host's memory
        std::vector<std::size_t> dims;  ///< places in dims_
        Rational element_bytes;
        Rational sure{1};       ///< Message::sure
        std::size_t shape = 0;  ///< in Reshardings
    };
    /// One call: what is asked, and what has been found.
    struct Query {
        const Question& asked;
        std::vector<std::vector<AxisList>> choices;  ///< by dimension
        std::vector<AxisList> split;                 ///< being put together
        std::vector<AxisList> splits;                ///< all of them, a row each
        std::vector<std::int64_t> places;            ///< by row
        std::vector<Way> found;
        std::unordered_map<std::uint64_t, std::vector<std::size_t>> unbeaten{};  ///< their places, by the result's hash
        std::optional<Error> problem;
        LayoutPrice least{};  ///< of a layout that is known; with a limit only
    };

    /// How the operation is done.
    struct Plan {
        std::span<const AxisList> split;
        std::int64_t at = Sharding::everywhere;
        Open open{};
        WayEdge edge{};
    };

    struct Compiled {
        CompiledTimes times;
        std::vector<std::size_t> slots;  ///< by resource
    };
    /// What a chip needs of others beside its share. Of a causal mask's window: the rows that a chip has see the columns at their
    /// places and W - 1 before these, and columns are seen by so many rows behind. Of functions that look back: what they read of
    /// the dimension that they work along.
    struct Looks {
        std::size_t dim = 0;                ///< place in dims_: columns, rows, or what it works along
        std::optional<std::size_t> across;  ///< of a window: the other dimension of its plane
        std::string places;                 ///< "W-1", or a number
        bool behind = false;                ///< they lie behind a chip's share, not before it
        std::vector<bool> edged;            ///< by tensor: it has the dimension, and not the other
        std::vector<AxisList> lie;  ///< how it is split elsewhere: in order as the other is, or bands are shared evenly
        double count = 0;           ///< of places
        Compiled compiled;
    };

    /// A tensor goes from one sharding to another; `places` of reshardings that do it.
    struct Leg {
        std::size_t tensor = 0;
        Sharding from;
        Sharding to;
        std::optional<Edge> edge;
    };

    static std::string name_of(const Program& program, const Operand& operand);
    static Plan plan_of(const Way& way) { return {way.split, way.at, way.open, way.edge}; }
    [[nodiscard]] Status compile_times(const Program& program, const Stored& stored, ChoiceCosts& costs);
    [[nodiscard]] const MovedTensor& moved(std::size_t tensor) const {
        return tensor < tensors_.size() ? tensors_[tensor] : *statistics_;
    }
    void add_statistics();
    [[nodiscard]] std::string statistics_name() const;
    void look_back(const Program& program);
    void look_over(const MaskedPlane& plane);
    static bool has_edge(const Looks& looks, std::size_t dim, std::optional<std::size_t> tensor);
    [[nodiscard]] AxisList edge_axes(const Looks& looks, std::span<const AxisList> split) const;
    [[nodiscard]] WayEdge edge_of(std::span<const AxisList> split) const;
    [[nodiscard]] bool in_reach(std::span<const AxisList> split) const;
    [[nodiscard]] std::optional<Edge> edge_of_tensor(std::size_t tensor, const Plan& plan) const;
    [[nodiscard]] std::size_t place_of(const std::string& dim);
    [[nodiscard]] bool splittable(const std::string& dim) const;
    void tie_rows();
    [[nodiscard]] bool in_order(std::size_t dim, AxisList axes, const std::vector<AxisList>& split) const;
    void settle(std::vector<AxisList>& split) const;
    [[nodiscard]] std::vector<std::int64_t> places(const Question& question) const;
    void offer_loads(Query& query) const;
    void offer_choices(Query& query) const;
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
    [[nodiscard]] Result<std::vector<std::size_t>> reshardings(const Leg& leg, const Query& query);
    [[nodiscard]] std::optional<std::vector<Leg>> legs(const Query& query, const Plan& plan,
                                                       const Sharding& output) const;
    [[nodiscard]] bool too_dear(const Query& query, std::span<const double> cost) const;
    [[nodiscard]] Status go(Query& query, const Plan& plan, std::span<const Leg> legs, Way way);
    [[nodiscard]] Status take(Query& query, const Plan& plan, std::span<const Leg> legs, std::size_t place, Way way);
    [[nodiscard]] bool stays(std::size_t tensor, const Sharding& from, const Sharding& to) const;
    void share_cost(const Plan& plan, std::span<double> cost);
    [[nodiscard]] bool beaten(const Query& query, const Way& way) const;
    [[nodiscard]] Status add_way(Query& query, const Plan& plan, const Sharding& output, std::span<const double> share);

    const Op* op_ = nullptr;
    ChoiceCosts* costs_ = nullptr;
    Reshardings* reshardings_ = nullptr;
    std::vector<std::string> dims_;
    std::vector<std::string> symbols_;
    std::vector<double> sizes_;              ///< by symbols_
    std::vector<MovedTensor> tensors_;       ///< operands, then the result
    std::optional<MovedTensor> statistics_;  ///< of the rows of a function, where chips exchange them
    int rounds_ = 0;                         ///< how often they do
    std::vector<bool> may_split_;
    std::vector<AxisMask> stays_;  ///< by tensor; none: all may move
    struct TiedDim {
        std::size_t dim = 0;
        std::vector<std::size_t> from;  ///< places in dims_, whose axes it has, one after the other
    };
    std::optional<TiedDim> tied_;    ///< of rows in groups for experts
    std::vector<std::size_t> rows_;  ///< of a gather and a scatter: dimensions of the indices that the tensor lacks
    std::size_t along_ = 0;          ///< likewise: the dimension that they point along
    bool writes_ = false;            ///< a scatter
    std::vector<std::uint32_t>
        linear_in_;             ///< sets of operands (Open::operands) of which partial sums give partial sums
    bool adds_ = false;         ///< such a result is wanted wherever the operands are so, not only where asked
    bool sums_ = true;          ///< what the result lacks has been summed over
    std::vector<bool> banded_;  ///< a causal mask lies over it that leaves no plain half
    std::vector<Looks> looks_;  ///< of which a way has one at most
    Compiled whole_;
    Compiled unmasked_;          ///< of bands of windows: chips share what is left of a plane, and not each has a band
    std::vector<double> bands_;  ///< by resource: what windows leave
    std::vector<double> seconds_;
    std::vector<double> shares_;
    std::vector<double> leg_cost_;  ///< of take()
};

}  // namespace roofline::core
