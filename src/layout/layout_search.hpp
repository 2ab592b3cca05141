// The layout of a whole program on a mesh: the strategies of all operations are chosen together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "layout/choice_costs.hpp"
#include "layout/lay_out.hpp"
#include "layout/op_strategies.hpp"
#include "layout/reshard.hpp"
#include "layout/sharding.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Returns the program without subscripts, for one chip, because derive_work() does not handle meshes.
[[nodiscard]] Program unsplit(const Program& program);

/// The chosen layout, in the order of the program's operations.
struct ProgramLayout {
    struct Choice {
        Strategy strategy;
        std::vector<Sharding> held;  ///< of the operands, as they arrive
        std::optional<Sharding> wanted;
    };
    std::vector<Choice> choices;
    std::vector<Sharding> held;  ///< by value
    LayoutPrice price;           ///< lower and upper bound of the program
    bool cut_short = false;      ///< there are more strategies than were examined
};

/// A program on a system, compiled for choosing layouts at many sizes. Program and system must outlive it.
///
/// Written types fix shardings; other results and the intermediates of expressions are free. One pass over the
/// operations keeps, for every combination of shardings of the free tensors that are still needed, the Pareto-optimal
/// costs: the program's bound is the maximum of sums, so the cheapest prefix need not lead to the cheapest whole. At
/// the end the least lower bound wins, then the least upper bound, then the fewest collectives, then the fewest bytes.
///
/// The first pass splits dimensions as the program's types do. LayoutFreedom::any adds a second pass in which
/// contractions and elementwise work may be split over any mesh axis that their operands or their result have, and in
/// which reshardings may use any legal collectives; if the sharding of one of these tensors is free, any axis of the
/// program's types may be used. The second pass is branch and bound: a prefix is dropped when its cost plus the minimum
/// cost of the rest of the program on each resource exceeds that of the first pass's layout. Each operation may make
/// its share of the evaluations and starts with the most promising prefixes, so a pass that runs out of evaluations
/// still finds a layout. If that layout is better, the pass is repeated with the tighter limit.
///
/// At most `max_kept` costs are kept per combination, and fewer when very many combinations are open. Programs with
/// many free tensors at once, and long ones with many open choices, can therefore miss a slightly better layout.
class LayoutSearch {
public:
    /// `permutes`: shared by several searches on one slice, if given; it must outlive the object. Errors: mesh axes
    /// that the system lacks; work that cannot be counted.
    static Result<LayoutSearch> compile(const Program& program, const System& system, const StayingAxes& stay = {},
                                        LayoutFreedom freedom = LayoutFreedom::any, KnownPermutes* permutes = nullptr);

    /// Dimensions without a size count as a million. Errors: a statement without a legal strategy.
    [[nodiscard]] Result<ProgramLayout> choose(const Sizes& sizes);
    /// Returns the layout of the first pass, whatever the freedom. It takes a thousandth of the time. Errors: as
    /// choose().
    [[nodiscard]] Result<ProgramLayout> choose_as_written(const Sizes& sizes);

    /// Returns the layout of the first pass with the least sum of all work, where every collective takes `collective_s`
    /// in addition: in practice often the fastest. Errors: as choose().
    [[nodiscard]] Result<ProgramLayout> choose_sequential(const Sizes& sizes, double collective_s);

    /// Returns those layouts of the first pass that have the least upper bounds, those that have the fewest
    /// collectives, and the one with the least lower bound. None of them need have the least bound of the program, but
    /// one may be the fastest in reality. There are few of them, possibly with duplicates. Errors: as choose().
    [[nodiscard]] Result<std::vector<ProgramLayout>> candidates(const Sizes& sizes);

    /// Returns all strategies of one operation with its operands sharded as in `layout`, best first, except that the
    /// chosen one comes first.
    [[nodiscard]] Result<std::vector<Strategy>> strategies(std::size_t op, const ProgramLayout& layout);
    [[nodiscard]] const OpStrategies& op(std::size_t index) const { return ops_[index].strategies; }
    /// Whether an earlier operation of the same iteration has already done this move of an operand.
    [[nodiscard]] bool done_before(std::size_t op, const TensorMove& move, const ProgramLayout& layout) const;
    [[nodiscard]] const Resharding& resharding(std::size_t place) const { return (*reshardings_)[place]; }

private:
    /// How much a pass keeps.
    struct PassLimits {
        std::size_t kept = 16;
        std::size_t states = 256;
        std::size_t rows = 1024;  ///< of all states together, but a few of each state
    };
    static constexpr std::size_t min_kept = 4;
    static constexpr std::size_t max_candidates = 4;
    static constexpr std::size_t max_passes =
        4;  ///< with LayoutFreedom::any: repeated while each finds a better layout
    static constexpr std::int64_t max_evaluations = 300'000;  ///< in one such pass: half a second

    /// An operation and the index of one of its operands.
    struct Use {
        std::size_t op = 0;
        std::size_t operand = 0;
    };
    struct CompiledOp {
        OpStrategies strategies;
        std::vector<std::string> counts;  ///< of the repeats around it
        std::optional<ValueId>
            same_sharding_as;  ///< the result must be sharded as this value was, because a loop carries it
        std::vector<std::vector<AxisList>> elsewhere;  ///< splits of its dimensions in other operations
        bool alone = false;                            ///< a chip that holds an operand may run it alone
        bool open = false;                             ///< its sums may stay unreduced
        std::vector<bool> free{};                      ///< by operand, see OpStrategies::Question::free
        AxisMask keep = 0;                             ///< see OpStrategies::Question::keep
        std::vector<std::vector<Use>> before{};        ///< by operand: other uses in the same iteration, latest first
        std::vector<AxisMask> stays{};                 ///< as in OpStrategies::stay(); empty: all may move
        std::size_t shape = 0;                         ///< the first operation of the same shape, possibly itself
        std::size_t equivalent = 0;  ///< the first operation that has the same strategies for the same question
    };
    /// A result of op_shape(), and the first operation that has it.
    struct KnownShape {
        OpShape shape;
        std::size_t op = 0;
    };
    using ShardingId = std::uint32_t;  ///< index into shardings_
    static constexpr ShardingId anywhere = ~ShardingId{0};
    /// The shardings of the free tensors that are still needed, and the costs of getting there.
    struct State {
        std::vector<ShardingId> lies;     ///< by live_
        std::vector<double> costs;        ///< rows of width()
        std::vector<std::size_t> traces;  ///< by row: the history that led to it
        std::vector<double> far;          ///< by row: lower and upper bound together; the least are kept
        std::size_t worst = 0;            ///< the row that is farthest, if there is no room for more
    };
    /// The history before and the strategy that was chosen.
    struct Trace {
        std::size_t before = 0;
        const Strategy* strategy = nullptr;
    };
    /// The strategies of an operation for given shardings of its operands, without those dominated by another one with
    /// the same result.
    struct Known {
        std::size_t op = 0;  ///< the operation that asked first
        std::vector<Strategy> strategies;
        std::vector<ShardingId> outputs;  ///< by strategy
        std::optional<Error> error;
    };

    /// One operation added to all states.
    struct Advance {
        std::size_t index = 0;
        double count = 1;
        std::vector<ValueId> live;  ///< afterwards
        bool own = false;           ///< its result is among them
        std::vector<State> next{};
    };
    /// A strategy chosen in a state, and the place of the state that it leads to.
    struct Step {
        const State* state = nullptr;
        const Strategy* strategy = nullptr;
        std::size_t place = 0;
    };

    LayoutSearch(const Program& program, const System& system);
    void free_axes();
    void add_up(const Step& step, std::size_t row, const Advance& to, std::span<double> sum) const;
    void take(const Step& step, Advance& to);
    void drop_unpromising(std::vector<Step>& steps, const Advance& to) const;
    void start(const Sizes& sizes);
    [[nodiscard]] Status pass();
    [[nodiscard]] ProgramLayout cheapest() const;
    void limit(const ProgramLayout* found);
    [[nodiscard]] double count_of(std::size_t index) const;
    [[nodiscard]] bool too_expensive(std::span<const double> cost, std::size_t next) const;
    [[nodiscard]] Status compile_ops(const StayingAxes& stay);
    /// Returns the operation's strategies and shape; operations of a known shape are not compiled again.
    [[nodiscard]] Result<CompiledOp> compiled(const Op& op, const Stored& stored, std::vector<KnownShape>& shapes);
    [[nodiscard]] std::size_t equivalent(const CompiledOp& op) const;
    [[nodiscard]] std::vector<AxisMask> staying(const Op& op, const Statement& statement,
                                                const StayingAxes& stay) const;
    void take_back_done(std::size_t index, const Strategy& strategy, std::size_t trace, double count,
                        std::span<double> cost) const;
    /// Returns the sequential seconds that a strategy adds at least, if its moves have been done before.
    [[nodiscard]] double least_added(std::size_t index, const Strategy& strategy) const;
    [[nodiscard]] bool full(const State& state) const { return state.traces.size() == pass_limits_.kept; }
    /// Whether a state would not keep a cost that is at least so far, in spite of rounding.
    [[nodiscard]] bool too_far(double far, const State& state) const {
        constexpr double rounding = 1e-9;
        return full(state) && far * (1 - rounding) >= state.far[state.worst];
    }
    void note_splits();
    void fix_inner(const Block& block);
    [[nodiscard]] bool one_place() const;
    [[nodiscard]] Status advance(std::size_t index);
    [[nodiscard]] std::vector<ValueId> live_after(std::size_t index) const;
    [[nodiscard]] ShardingId lie_of(ValueId value, const State& state) const;
    [[nodiscard]] const Known& known_strategies(std::size_t index, const State& state);
    [[nodiscard]] Known strategies_for(std::size_t index, std::span<const ShardingId> asked);
    [[nodiscard]] LayoutPrice best(const State& state) const;
    [[nodiscard]] std::span<const double> row(const State& state, std::size_t i) const;
    /// Keeps a cost unless another is no worse. Returns whether it was kept.
    bool keep(State& state, std::span<const double> cost, std::size_t trace) const;
    void trim(State& state, std::size_t kept) const;  ///< keeps only the least costs
    [[nodiscard]] ShardingId interned(const Sharding& sharding);
    [[nodiscard]] ProgramLayout traced(std::size_t trace, const LayoutPrice& price) const;

    const Program* program_;
    /// By operation: mesh axes that it may be split over; empty: only as tensors are sharded.
    std::vector<AxisMask> axes_;
    std::unique_ptr<ChoiceCosts> costs_;
    std::unique_ptr<Reshardings> reshardings_;
    std::vector<std::optional<Sharding>> fixed_;  ///< by value; empty for free ones
    std::vector<std::size_t> last_use_;           ///< by value: the last operation that needs its sharding
    std::vector<CompiledOp> ops_;
    std::map<std::string, std::vector<AxisList>> splits_;  ///< by dimension, from written types

    // State of one search.
    Sizes sizes_;
    PassLimits first_limits_;  ///< of the first pass
    bool in_part_ = false;     ///< LayoutFreedom::in_part
    PassLimits pass_limits_;
    std::int64_t evaluations_left_ = 0;      ///< that the second pass may still make
    std::int64_t op_evaluations_left_ = 0;   ///< the share of them that the operation under examination may still make
    bool cut_short_ = false;                 ///< the share of an operation did not suffice
    std::vector<SearchLimit> limits_;        ///< by operation, in the second pass
    std::vector<std::vector<double>> rest_;  ///< by operation: the minimum cost of it and everything after it
    std::vector<ValueId> live_;
    std::vector<State> states_;
    std::vector<Trace> traces_;
    std::vector<ShardingId> fixed_ids_;  ///< by value, for those in fixed_
    /// By operation, and by the shardings of its operands, then of its result, or `anywhere`; equivalent operations
    /// share the entry of the first.
    std::vector<std::map<std::vector<ShardingId>, Known>> known_;
    std::vector<Sharding> shardings_;
    std::vector<std::uint64_t> hashes_;  ///< of shardings_
};

}  // namespace roofline::core
