// How a tensor lies on a mesh, and the cheapest way from one lie to another.
#pragma once

#include <compare>
#include <string>
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

/// The cheapest sequence of collectives that turns `from` into `to`: Dijkstra's search over shardings, whose steps are slices
/// (free), all-gathers, reduce-scatters, all-reduces, all-to-alls and permutes over one or several axes together. `dims` and
/// `element_bytes` say how large the array is; dimensions without a size count as a million. Error: there is no way (a sum that
/// was complete cannot become partial), or too many.
struct Resharding {
    std::vector<Message> messages;
    MovePrice price;
};
[[nodiscard]] Result<Resharding> reshard(const System& system, const Program& program, const std::string& tensor,
                                         Dtype dtype, const std::vector<std::string>& dims, const Sharding& from,
                                         const Sharding& to);

}  // namespace roofline
