// All ways from one sharding to another that may be part of a program's best layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "layout/choice_costs.hpp"
#include "layout/reshard.hpp"
#include "layout/sharding.hpp"

namespace roofline::core {

/// A program's bound is the greatest sum over one of its resources, so of two ways to reshard the one that is cheaper by itself may
/// make the program dearer, when it uses wires that other collectives need. This search keeps every way that no other one
/// equals or beats in all costs (ChoiceCosts). Unlike ReshardSearch it takes any legal step, and may split an array over mesh axes
/// that neither sharding has: to slice what every chip holds is free, and then more wires carry the rest.
///
/// A search over labels with several criteria (Martins, 1984); the labels of one sharding are at most `most_labels`, which three
/// and more axes can exceed.
class ReshardFront {
public:
    /// `axes`: those that may be used in between.
    ReshardFront(ChoiceCosts& costs, AxisMask axes) : costs_(costs), axes_(axes) {}

    /// Errors: a topology that is not costed; no way. Neither sharding is at one chip.
    /// Those that cost more than `most` seconds in their bound are left out: it may be that none are left.
    [[nodiscard]] Result<std::vector<Resharding>> run(const Moved& moved, const Sharding& from, const Sharding& to,
                                                      double most);

    /// Labels that the last run went on from; looking at one takes as long as so many other steps of a layout's search.
    [[nodiscard]] std::size_t expanded() const { return expanded_; }
    static constexpr std::int64_t cost_of_a_step = 8;

private:
    static constexpr std::size_t most_labels = 32;
    static constexpr std::size_t most_expanded = 4000;

    /// A way to a sharding.
    struct Label {
        std::size_t lies = 0;  ///< place in shardings_
        std::size_t before = 0;
        bool moves = false;  ///< by a collective, not by a slice
        bool beaten = false;
        Move move;
        double in_turn_s = 0;
    };

    [[nodiscard]] std::size_t place_of(const Sharding& sharding);
    [[nodiscard]] std::span<const double> row(std::size_t label) const;
    [[nodiscard]] bool later(std::size_t a, std::size_t b) const;
    void reach(std::size_t before, const Sharding& there, std::span<const double> cost, const Move* move);
    [[nodiscard]] Status expand(const Moved& moved, std::size_t label);
    [[nodiscard]] Resharding traced(std::size_t label) const;

    ChoiceCosts& costs_;
    AxisMask axes_;
    double most_ = 0;
    bool left_out_ = false;            ///< something cost more than that
    std::vector<Sharding> shardings_;  ///< the first is the one that is wanted
    std::unordered_multimap<std::uint64_t, std::size_t> places_;
    std::vector<std::vector<std::size_t>> labels_of_;  ///< by sharding, those not beaten
    std::vector<Label> labels_;
    std::vector<double> costs_of_;   ///< rows by label
    std::vector<std::size_t> open_;  ///< a heap, the least in turn first
    std::size_t expanded_ = 0;
};

}  // namespace roofline::core
