// The cheapest sequence of collectives from one sharding to another.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "layout/choice_costs.hpp"
#include "layout/sharding.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// A collective on one array.
struct Move {
    CollectiveKind kind = CollectiveKind::all_gather;
    AxisList axes;
    double bytes = 0;                          ///< V, as Message has it
    Sharding held;                             ///< V is measured in arrays of this sharding
    std::int64_t times = 1;                    ///< V is this many of them
    std::int64_t from = Sharding::everywhere;  ///< as in Route
    std::int64_t to = Sharding::everywhere;
    AxisList after{};  ///< of a permute: the axes in their new order
    /// Of a permute to the next chips (Message::hops): the number of positions of a dimension that move.
    std::int64_t hops = 0;
    std::size_t halo_dim = 0;
    bool back = false;  ///< of a result: its halos return to their chips and are added (TensorHalo::result)

    [[nodiscard]] Route route() const {
        return {kind, axes.mask(), from, to, after.empty() && hops == 0 ? AxisList{} : axes, after, hops};
    }
};

/// A halo of a dimension: beside its own shard a chip needs a number of positions before it, or after it, such as keys
/// and values of a window, or what a short convolution looks back on. For an operand, chips hand these on to the next
/// chip (a halo exchange); for a result, whose sums have such halos, they return them, and the owner adds them.
struct TensorHalo {
    std::size_t dim = 0;  ///< of the tensor
    AxisList axes;        ///< axes over which it is split
    double places = 0;
    bool result = false;

    bool operator==(const TensorHalo&) const = default;
};

/// One move of a resharding: a collective; or a slice that every chip takes of what it holds; or zeros that it puts
/// beside its array or in its place because the others' arrays are to be added.
struct ReshardAction {
    Sharding to;
    std::optional<std::size_t> move;  ///< index into Resharding::moves
};

struct Resharding {
    std::vector<Move> moves;
    std::vector<ReshardAction> actions;  ///< in order, the last one to the target
    LayoutPrice price;                   ///< of all of them in sequence
};

/// The array that moves.
struct Moved {
    std::string_view tensor;  ///< its name in reports
    double element_bytes = 0;
    std::span<const double> sizes;  ///< of its dimensions, in elements
};

/// Returns the collective that leads from one sharding to another over these axes; `gathered`: V is the array that each
/// member holds afterwards, otherwise the one before, or all that the group redistributes.
[[nodiscard]] Move move_of(const System& system, const Moved& moved, const Sharding& from, const Sharding& there,
                           CollectiveKind kind, AxisList axes, bool gathered);

/// Dijkstra's search over shardings. Its moves are slices and partial sums completed with zeros (both free),
/// all-gathers, reduce-scatters, all-reduces, all-to-alls and permutes over one or several axes together. An array on
/// one chip is sent, broadcast or scattered to where it is wanted; an array that one chip wants is gathered there, from
/// the sharding that it has when its sums are complete. The search keeps its buffers from one run to the next.
class ReshardSearch {
public:
    explicit ReshardSearch(ChoiceCosts& costs) : costs_(costs) {}

    /// Errors: a topology that has no cost model; too many expansions since `refill()`, because a mesh of many axes has
    /// more paths than can be searched.
    [[nodiscard]] Result<Resharding> run(const Moved& moved, const Sharding& from, const Sharding& to);
    /// The same where a chip needs only a halo beside its shard: an operand's `to`, or a result's `from`, may have the
    /// dimension whole, and the cheaper of both is taken.
    [[nodiscard]] Result<Resharding> run(const Moved& moved, const Sharding& from, const Sharding& to,
                                         const TensorHalo& halo);

    void refill() { expansions_left_ = max_expansions; }

private:
    static constexpr int max_expansions = 100'000;

    static constexpr std::size_t no_node = ~std::size_t{0};

    static std::size_t place_of(const Sharding& sharding) {
        constexpr int place_bits = 8;
        return sharding.hash() >> (64 - place_bits);
    }

    struct Node {
        Sharding sharding;
        LayoutPrice price;
        std::size_t before = 0;
        bool moves = false;  ///< a collective, not a slice, led here
        bool done = false;
        Move move;
        std::size_t next = no_node;  ///< with the same place in first_
    };
    /// A node and its price when it was reached.
    struct Reached {
        LayoutPrice price;
        std::size_t node = 0;
    };

    void start(const Sharding& from, const Sharding& to);
    [[nodiscard]] std::size_t cheapest();
    [[nodiscard]] Resharding traced(std::size_t goal) const;
    [[nodiscard]] Status expand(const Moved& moved, std::size_t here, const Sharding& to);
    [[nodiscard]] Status expand_rooted(const Moved& moved, std::size_t here, const Sharding& goal);
    [[nodiscard]] std::size_t node_of(const Sharding& sharding) const;
    /// Returns the node of `there`, or null if it, or the goal, is already reached at this price. `node`: node_of().
    [[nodiscard]] Node* reach(std::size_t here, const Sharding& there, std::size_t node, LayoutPrice price, bool moves);

    ChoiceCosts& costs_;
    std::vector<Node> nodes_;
    std::array<std::size_t, 256> first_{};  ///< node by the first bits of its hash
    std::vector<Reached> open_;             ///< a heap, the cheapest first; of each node the last price counts
    Sharding to_;
    std::optional<std::size_t> goal_;  ///< its node, once it was reached
    int expansions_left_ = max_expansions;
};

/// The reshardings of a whole program, each computed once: tensors of the same dimensions and dtype share them.
class Reshardings {
public:
    explicit Reshardings(ChoiceCosts& costs) : costs_(costs), search_(costs) {}

    /// Returns an index for tensors of these dimensions.
    [[nodiscard]] std::size_t shape(const std::vector<std::string>& dims, double element_bytes);
    /// Sets the sizes for all following calls; every dimension of a shape must be among them.
    void set_sizes(const Sizes& sizes);

    /// Returns the index of a resharding. Errors: as ReshardSearch; `tensor` is the name in their texts.
    [[nodiscard]] Result<std::size_t> find(std::size_t shape, std::string_view tensor, const Sharding& from,
                                           const Sharding& to, const std::optional<TensorHalo>& halo = std::nullopt);
    /// Returns the indices of all reshardings over these mesh axes that may be part of a best layout (ReshardFront);
    /// the number of expansions is subtracted from `steps`. Errors: likewise.
    [[nodiscard]] Result<std::vector<std::size_t>> front(std::size_t shape, std::string_view tensor,
                                                         const Sharding& from, const Sharding& to, AxisMask axes,
                                                         double most, std::int64_t& evaluations);
    [[nodiscard]] const Resharding& operator[](std::size_t place) const { return reshardings_[place]; }

    void refill() { search_.refill(); }

private:
    struct Shape {
        std::vector<std::string> dims;
        double element_bytes = 0;
        std::vector<double> sizes;
    };
    struct Key {
        std::size_t shape = 0;
        Sharding from;
        Sharding to;
        std::optional<TensorHalo> halo;

        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const {
            return ((key.from.hash() * 31 + key.to.hash()) * 31 + key.shape) * 2 + (key.halo ? 1 : 0);
        }
    };

    ChoiceCosts& costs_;
    ReshardSearch search_;
    std::vector<Shape> shapes_;
    std::unordered_map<Key, std::size_t, Hash> places_;
    std::unordered_map<Key, std::vector<std::size_t>, Hash> fronts_;
    std::vector<Resharding> reshardings_;
};

}  // namespace roofline::core
