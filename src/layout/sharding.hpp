// How a tensor lies on a mesh, and the cheapest way from one lie to another.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline {

/// By dimension the mesh axes it is split over, outermost first; and the axes over which each member holds a partial sum.
struct Sharding {
    std::vector<std::vector<std::string>> dims;
    std::vector<std::string> unreduced;

    bool operator==(const Sharding&) const = default;
    auto operator<=>(const Sharding&) const = default;
};

[[nodiscard]] Sharding sharding_of(const TensorType& type);

/// Chips that share a dimension: the product of its axes' sizes.
[[nodiscard]] std::int64_t ways(const System& system, const std::vector<std::string>& axes);

/// What one chip holds of a tensor: its dimensions as shares (local_dim()).
[[nodiscard]] std::vector<std::string> local_dims(const System& system, const std::vector<std::string>& dims,
                                                  const Sharding& sharding);

/// Prices of moves are compared by these, in this order; times that differ by less than a part in a billion are the same.
struct MovePrice {
    double lower_s = 0;
    double upper_s = 0;
    int collectives = 0;
    double bytes = 0;

    MovePrice& operator+=(const MovePrice& other);
    std::partial_ordering operator<=>(const MovePrice& other) const;
    bool operator==(const MovePrice& other) const { return (*this <=> other) == std::partial_ordering::equivalent; }
};

/// Loads of collectives on one system, found once, and how much searching is left to do.
class MoveCosts {
public:
    explicit MoveCosts(const System& system) : system_(system) {}

    [[nodiscard]] const System& system() const { return system_; }
    [[nodiscard]] Result<const CollectiveLoad*> load(CollectiveKind kind, const std::vector<std::string>& axes);

    /// One step of a search. False when there have been too many: a mesh of many axes has more ways than can be looked at.
    [[nodiscard]] bool spend() { return steps_left_-- > 0; }
    void refill() { steps_left_ = most_steps; }

private:
    static constexpr int most_steps = 100'000;

    const System& system_;
    std::map<std::pair<CollectiveKind, std::vector<std::string>>, CollectiveLoad> loads_;
    int steps_left_ = most_steps;
};

/// The array that moves.
struct Moved {
    std::string tensor;  ///< what reports call it
    Dtype dtype = Dtype::bf16;
    std::vector<std::string> dims;
};

/// The cheapest sequence of collectives that turns `from` into `to`: Dijkstra's search over shardings, whose steps are slices
/// (free), all-gathers, reduce-scatters, all-reduces, all-to-alls and permutes over one or several axes together. Dimensions
/// without a size count as a million. Errors: there is no way (a sum that was complete cannot become partial), or too many.
struct Resharding {
    std::vector<Message> messages;
    MovePrice price;
};
[[nodiscard]] Result<Resharding> reshard(MoveCosts& costs, const Program& program, const Moved& moved,
                                         const Sharding& from, const Sharding& to);

}  // namespace roofline
