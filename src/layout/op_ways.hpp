// The legal ways to do one operation on a mesh, with their costs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bound/times.hpp"
#include "layout/choice_costs.hpp"
#include "layout/reshard.hpp"
#include "layout/sharding.hpp"
#include "program/program.hpp"

namespace roofline {

/// One way: how the operation's dimensions are split, and so what has to move before and after.
struct Way {
    std::vector<AxisList> split;     ///< by the operation's dimensions
    std::vector<std::size_t> moves;  ///< of each operand, then of the result: places in OpWays::resharding()
    Sharding output;                 ///< where the result ends up
    std::vector<double> cost;        ///< see ChoiceCosts
    LayoutPrice price;
};

/// Which of an operation's tensors cross memory in it: not what stays inside its statement or fuse block, and what a kernel
/// reads twice only the first time.
struct Stored {
    std::vector<bool> inputs;
    bool output = true;
};

/// An operation, compiled: choices of its layout are looked at by the thousand.
///
/// Every dimension may be split as one of the operands has it there, or as the result is wanted; a result that may lie anywhere
/// also as that dimension is split elsewhere in the program. Operands are resharded to the split, each chip does its share, and
/// what comes out (partial sums where a summed dimension is split) is resharded to where the result is wanted. Dimensions along
/// which a function works stay whole, but for sums and masks.
class OpWays {
public:
    /// Errors: work that does not fit 127 bits, a dtype without a unit.
    static Result<OpWays> compile(const Program& program, const Op& op, const Stored& stored, ChoiceCosts& costs);

    [[nodiscard]] const std::vector<std::string>& dims() const { return dims_; }
    [[nodiscard]] const Op& op() const { return *op_; }

    /// Sizes for all that follows. Those that are missing count as a million.
    void set_sizes(const Sizes& sizes);

    /// All ways, best first. `elsewhere` are the splits of each dimension, by dims(), in the rest of the program; it counts where
    /// there is no `wanted`. Errors: no way is legal.
    [[nodiscard]] Result<std::vector<Way>> ways(std::span<const Sharding> held, const std::optional<Sharding>& wanted,
                                                std::span<const std::vector<AxisList>> elsewhere,
                                                ReshardSearch& search);

    [[nodiscard]] const Resharding& resharding(std::size_t place) const { return moved_[place].way; }
    [[nodiscard]] std::size_t tensor_of(std::size_t place) const { return moved_[place].tensor; }
    [[nodiscard]] const std::string& tensor_name(std::size_t tensor) const { return tensors_[tensor].name; }

private:
    struct MovedTensor {
        std::string name;               ///< what reports call it
        std::vector<std::size_t> dims;  ///< places in dims_
        double element_bytes = 0;
        std::vector<double> sizes;
    };
    struct KnownMove {
        std::size_t tensor = 0;
        Sharding from;
        Sharding to;
        Resharding way;
        std::optional<Error> error;
    };
    /// What is looked for in one call.
    struct Query {
        std::span<const Sharding> held;
        const std::optional<Sharding>& wanted;
        ReshardSearch& search;
        std::vector<std::vector<AxisList>> choices;  ///< by dimension
        std::vector<AxisList> split;
        std::vector<Way> found;
        std::optional<Error> problem;
        std::size_t tried = 0;
    };

    [[nodiscard]] Status compile_times(const Program& program, const Stored& stored, ChoiceCosts& costs);
    [[nodiscard]] std::size_t place_of(const std::string& dim);
    [[nodiscard]] bool splittable(const std::string& dim) const;
    void try_from(Query& query, std::size_t dim, AxisMask used);
    void price_split(Query& query);
    [[nodiscard]] Sharding sharding(std::size_t tensor, std::span<const AxisList> split) const;
    [[nodiscard]] Sharding made(std::span<const AxisList> split) const;
    [[nodiscard]] std::vector<Sharding> outputs(const Query& query) const;
    [[nodiscard]] Result<std::size_t> move(ReshardSearch& search, std::size_t tensor, const Sharding& from,
                                           const Sharding& to);
    void share_cost(std::span<const AxisList> split, std::vector<double>& cost);
    [[nodiscard]] Status add_way(Query& query, const Sharding& output, const std::vector<double>& share);

    const Op* op_ = nullptr;
    ChoiceCosts* costs_ = nullptr;
    std::vector<std::string> dims_;
    std::vector<double> sizes_;         ///< by dims_
    std::vector<MovedTensor> tensors_;  ///< operands, then the result
    std::vector<bool> may_split_;
    std::vector<bool> masked_;  ///< a causal mask lies over it
    struct Compiled {
        CompiledTimes times;
        std::vector<std::size_t> slots;  ///< by resource
    };
    Compiled whole_;
    Compiled unmasked_;  ///< half of a plane that is split is not half of every chip's part
    std::vector<double> seconds_;
    std::vector<double> shares_;
    std::vector<KnownMove> moved_;
    std::vector<std::uint64_t> hashes_;  ///< of them
};

}  // namespace roofline
