// The cheapest way from one sharding to another.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "layout/choice_costs.hpp"
#include "layout/sharding.hpp"
#include "program/program.hpp"

namespace roofline {

/// A collective on one array.
struct Move {
    CollectiveKind kind = CollectiveKind::all_gather;
    AxisList axes;
    double bytes = 0;        ///< V, as Message has it
    Sharding held;           ///< of V a chip has this local part
    std::int64_t times = 1;  ///< V is so many of them
};

struct Resharding {
    std::vector<Move> moves;
    LayoutPrice price;  ///< of one after the other
};

/// The array that moves.
struct Moved {
    std::string_view tensor;  ///< what reports call it
    double element_bytes = 0;
    std::span<const double> sizes;  ///< of its dimensions
};

/// Dijkstra's search over shardings, whose steps are slices (free), all-gathers, reduce-scatters, all-reduces, all-to-alls and
/// permutes over one or several axes together. It keeps its room from one search to the next.
class ReshardSearch {
public:
    explicit ReshardSearch(ChoiceCosts& costs) : costs_(costs) {}

    /// Errors: a sum that was complete cannot become partial; a topology that is not costed; too many steps since `refill()`:
    /// a mesh of many axes has more ways than can be looked at.
    [[nodiscard]] Result<Resharding> run(const Moved& moved, const Sharding& from, const Sharding& to);

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
    [[nodiscard]] Status expand(const Moved& moved, std::size_t here, const Sharding& to);
    void reach(std::size_t here, const Sharding& there, const LayoutPrice& price, const Move* move);

    ChoiceCosts& costs_;
    std::vector<Node> nodes_;
    std::vector<std::uint64_t> hashes_;  ///< of the nodes' shardings
    int steps_left_ = most_steps;
};

}  // namespace roofline
