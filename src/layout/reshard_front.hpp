// All paths from one sharding to another that may be part of a program's best layout.
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

/// The Pareto-optimal reshardings. The bound of a program is the greatest sum over one of its resources, so the
/// resharding that is cheaper by itself may make the program more expensive when it uses links that other collectives
/// need. This search keeps every path that no other one equals or dominates in all costs (ChoiceCosts). Unlike
/// ReshardSearch it takes any legal move, and may split an array over mesh axes that neither sharding has: slicing an
/// array that every chip holds is free, and afterwards more links carry the rest.
///
/// The algorithm is a label-setting search with several criteria (Martins, 1984). It keeps at most `max_labels` labels
/// per sharding, a limit that meshes of three and more axes can reach.
class ReshardFront {
public:
    /// `axes`: mesh axes that may be used in between.
    ReshardFront(ChoiceCosts& costs, AxisMask axes) : costs_(costs), axes_(axes) {}

    /// Neither sharding may be on one chip. Paths whose bound exceeds `most` seconds are left out, so the result may be
    /// empty. Errors: a topology that has no cost model; no path.
    [[nodiscard]] Result<std::vector<Resharding>> run(const Moved& moved, const Sharding& from, const Sharding& to,
                                                      double most);

    /// The labels that the last run expanded; expanding one takes as long as this many other evaluations of a layout
    /// search.
    [[nodiscard]] std::size_t expanded() const { return expanded_; }
    static constexpr std::int64_t evaluations_per_label = 8;

private:
    static constexpr std::size_t max_labels = 32;
    static constexpr std::size_t max_expanded = 4000;

    /// A path to a sharding.
    struct Label {
        std::size_t lies = 0;  ///< index into shardings_
        std::size_t before = 0;
        bool moves = false;  ///< by a collective, not by a slice
        bool dominated = false;
        Move move;
        double sequential_s = 0;
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
    bool left_out_ = false;            ///< some path cost more than that
    std::vector<Sharding> shardings_;  ///< the first is the target
    std::unordered_multimap<std::uint64_t, std::size_t> places_;
    std::vector<std::vector<std::size_t>> labels_of_;  ///< by sharding, those not dominated
    std::vector<Label> labels_;
    std::vector<double> costs_of_;   ///< rows by label
    std::vector<std::size_t> open_;  ///< a heap, the least sequential time first
    std::size_t expanded_ = 0;
};

}  // namespace roofline::core
