// The cheapest way from one sharding to another.
#pragma once

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
    Sharding held;                             ///< of V a chip has this local part
    std::int64_t times = 1;                    ///< V is so many of them
    std::int64_t from = Sharding::everywhere;  ///< as Route has them
    std::int64_t to = Sharding::everywhere;
    AxisList after{};  ///< of a permute: the axes in the order that follows
    /// Of a permute to the next chips (Message::hops): so many places of a dimension.
    std::int64_t hops = 0;
    std::size_t edge_dim = 0;
    bool back = false;  ///< of a result, whose edges go back and are added (Edge::result)

    [[nodiscard]] Route route() const {
        return {kind, axes.mask(), from, to, after.empty() && hops == 0 ? AxisList{} : axes, after, hops};
    }
};

/// Of a dimension a chip needs its share and so many places before it, or behind it: keys and values behind a window, what a short
/// convolution looks back on. Of an operand the chips hand these on to the next (a halo exchange); of a result, whose sums have
/// such edges, back, where they are added.
struct Edge {
    std::size_t dim = 0;  ///< of the tensor
    AxisList axes;        ///< over which it is split
    double places = 0;
    bool result = false;

    bool operator==(const Edge&) const = default;
};

/// A step on the way: a collective, or a slice that every chip takes of what it holds, or zeros that it puts beside it or in its
/// place, where the others' arrays are to be added to its own.
struct ShardingStep {
    Sharding to;
    std::optional<std::size_t> move;  ///< place in Resharding::moves
};

struct Resharding {
    std::vector<Move> moves;
    std::vector<ShardingStep> steps;  ///< one after the other, the last one to where it was to go
    LayoutPrice price;                ///< of one after the other
};

/// The array that moves.
struct Moved {
    std::string_view tensor;  ///< what reports call it
    double element_bytes = 0;
    std::span<const double> sizes;  ///< of its dimensions
};

/// The collective that leads from one sharding to another over these axes; `gathered`: its array is what each member holds
/// afterwards, else before, or all that the group redistributes.
[[nodiscard]] Move move_of(const System& system, const Moved& moved, const Sharding& from, const Sharding& there,
                           CollectiveKind kind, AxisList axes, bool gathered);

/// Dijkstra's search over shardings, whose steps are slices and partial sums made with zeros (both free), all-gathers,
/// reduce-scatters, all-reduces, all-to-alls and permutes over one or several axes together. From one chip an array is sent, broadcast or scattered to where it is wanted; to
/// one chip it is gathered when its sums are complete, from wherever it then lies. It keeps its room from one search to the next.
class ReshardSearch {
public:
    explicit ReshardSearch(ChoiceCosts& costs) : costs_(costs) {}

    /// Errors: a topology that is not costed; too many steps since `refill()`: a mesh of many axes has more ways than can be looked at.
    [[nodiscard]] Result<Resharding> run(const Moved& moved, const Sharding& from, const Sharding& to);
    /// The same where an edge is all that is needed beside each chip's share: of an operand `to`, of a result `from` may have the
    /// dimension whole, and what is cheaper is taken.
    [[nodiscard]] Result<Resharding> run(const Moved& moved, const Sharding& from, const Sharding& to,
                                         const Edge& edge);

    void refill() { steps_left_ = most_steps; }

private:
    static constexpr int most_steps = 100'000;

    struct Node {
        Sharding sharding;
        LayoutPrice price;
        std::size_t before = 0;
        bool moves = false;  ///< the step that led here is a collective, not a slice
        bool done = false;
        Move move;
    };

    [[nodiscard]] std::size_t cheapest() const;
    [[nodiscard]] Resharding traced(std::size_t goal) const;
    [[nodiscard]] Status expand(const Moved& moved, std::size_t here, const Sharding& to);
    [[nodiscard]] Status expand_rooted(const Moved& moved, std::size_t here, const Sharding& goal);
    [[nodiscard]] Status take(const Moved& moved, std::size_t here, const Sharding& there, Move move);
    void reach(std::size_t here, const Sharding& there, const LayoutPrice& price, const Move* move);

    ChoiceCosts& costs_;
    std::vector<Node> nodes_;
    Sharding to_;
    std::optional<std::size_t> goal_;    ///< its node, once it has been reached
    std::vector<std::uint64_t> hashes_;  ///< of the nodes' shardings
    int steps_left_ = most_steps;
};

/// Reshardings of a whole program, each found once: tensors of the same dimensions and dtype share them.
class Reshardings {
public:
    explicit Reshardings(ChoiceCosts& costs) : costs_(costs), search_(costs) {}

    /// A place for tensors of these dimensions.
    [[nodiscard]] std::size_t shape(const std::vector<std::string>& dims, double element_bytes);
    /// Sizes for all that follows; every dimension of a shape must be among them.
    void set_sizes(const Sizes& sizes);

    /// The place of a resharding. Errors: as ReshardSearch; `tensor` is what they call it.
    [[nodiscard]] Result<std::size_t> find(std::size_t shape, std::string_view tensor, const Sharding& from,
                                           const Sharding& to, const std::optional<Edge>& edge = std::nullopt);
    /// The places of all that may be part of a best layout, which may use these mesh axes (ReshardFront); what that took is taken off
    /// `steps`. Errors: likewise.
    [[nodiscard]] Result<std::vector<std::size_t>> front(std::size_t shape, std::string_view tensor,
                                                         const Sharding& from, const Sharding& to, AxisMask axes,
                                                         double most, std::int64_t& steps);
    [[nodiscard]] const Resharding& operator[](std::size_t place) const { return ways_[place]; }

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
        std::optional<Edge> edge;

        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const {
            return ((key.from.hash() * 31 + key.to.hash()) * 31 + key.shape) * 2 + (key.edge ? 1 : 0);
        }
    };

    ChoiceCosts& costs_;
    ReshardSearch search_;
    std::vector<Shape> shapes_;
    std::unordered_map<Key, std::size_t, Hash> places_;
    std::unordered_map<Key, std::vector<std::size_t>, Hash> fronts_;
    std::vector<Resharding> ways_;
};

}  // namespace roofline::core
