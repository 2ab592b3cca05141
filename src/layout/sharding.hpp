// The sharding of a tensor on a mesh. Mesh axes are numbered by their place in the mesh, and packed into few bits
// because the layout search examines thousands of shardings.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// A set of mesh axes, one bit each.
using AxisMask = std::uint8_t;
static_assert(max_mesh_axes <= 8);

/// A list of distinct mesh axes, outermost first.
class AxisList {
public:
    [[nodiscard]] std::size_t size() const { return (static_cast<std::size_t>(std::bit_width(packed_)) + 3) / 4; }
    [[nodiscard]] bool empty() const { return packed_ == 0; }
    [[nodiscard]] std::size_t operator[](std::size_t i) const { return (packed_ >> (4 * i) & 15U) - 1; }
    [[nodiscard]] AxisMask mask() const {
        std::uint32_t mask = 0;
        for (std::uint32_t rest = packed_; rest != 0; rest >>= 4) mask |= 1U << ((rest & 15U) - 1);
        return static_cast<AxisMask>(mask);
    }
    void push_back(std::size_t axis) { packed_ |= static_cast<std::uint32_t>(axis + 1) << (4 * size()); }
    void append(AxisList more) {
        if (!more.empty()) packed_ |= more.packed_ << (4 * size());
    }
    [[nodiscard]] AxisList first(std::size_t count) const {
        return AxisList(count >= 8 ? packed_ : packed_ & ((1U << (4 * count)) - 1));
    }
    [[nodiscard]] AxisList from(std::size_t begin) const { return AxisList(begin >= 8 ? 0 : packed_ >> (4 * begin)); }
    [[nodiscard]] bool starts_with(AxisList other) const { return first(other.size()) == other; }

    bool operator==(const AxisList&) const = default;
    auto operator<=>(const AxisList&) const = default;

    AxisList() = default;

private:
    explicit AxisList(std::uint32_t packed) : packed_(packed) {}
    std::uint32_t packed_ = 0;  ///< four bits each, 1 + the axis, the first lowest
};

/// Returns the axes of a set, in the mesh's order.
[[nodiscard]] AxisList listed(AxisMask mask);

/// Returns the orders in which the axes of a set may split a dimension: all orders of up to two axes, and only the
/// mesh's order of more.
[[nodiscard]] std::vector<AxisList> orders_of(AxisMask mask);

/// The mesh axes that each dimension is split over, and the axes over which each member holds a partial sum; or the one
/// chip that holds everything.
struct Sharding {
    static constexpr std::size_t max_dims = 16;
    static constexpr std::int64_t everywhere = -1;

    std::array<AxisList, max_dims> dims{};  ///< empty beyond the tensor's dimensions
    std::uint8_t rank = 0;
    AxisMask unreduced = 0;
    /// The chip that holds all of it, numbered along the mesh with the last axis fastest.
    std::int64_t at = everywhere;

    bool operator==(const Sharding& other) const {
        return rank == other.rank && unreduced == other.unreduced && at == other.at &&
               std::equal(dims.begin(), dims.begin() + rank, other.dims.begin());  // the following ones are empty
    }
    auto operator<=>(const Sharding&) const = default;

    [[nodiscard]] AxisMask used() const {
        AxisMask mask = unreduced;
        for (std::size_t d = 0; d < rank; ++d) mask |= dims[d].mask();
        return mask;
    }
    [[nodiscard]] bool at_chip() const { return at != everywhere; }
    [[nodiscard]] std::uint64_t hash() const {
        std::uint64_t hash = unreduced ^ static_cast<std::uint64_t>(at + 1) << 8U;
        for (std::size_t d = 0; d < rank; ++d) {
            hash = (hash ^ std::bit_cast<std::uint32_t>(dims[d])) * 0x9E3779B97F4A7C15U;
            hash ^= hash >> 29;
        }
        return hash;
    }
};

/// Returns the sharding of a written type. Axes of one chip split nothing and are left out. Errors: an axis that the
/// mesh lacks, a coordinate outside of it; a split tensor of too many dimensions.
[[nodiscard]] Result<Sharding> sharding_of(const TensorType& type, const System& system);

/// Returns the names of axes.
[[nodiscard]] std::vector<std::string> axis_names(const System& system, AxisList axes);

/// Returns the coordinates of a chip, given its number along the mesh; empty for Sharding::everywhere.
[[nodiscard]] MeshPlace mesh_place(const System& system, std::int64_t chip);

/// Returns a type with the axes of a sharding, and its place.
[[nodiscard]] TensorType with_sharding(TensorType type, const Sharding& sharding, const System& system);

/// Returns the number of chips that share a dimension: the product of the sizes of its axes.
[[nodiscard]] std::int64_t chips_across(const System& system, AxisList axes);

/// Returns the shards that one chip has of a tensor's dimensions.
[[nodiscard]] std::vector<Symbol> shards_of(const System& system, const std::vector<std::string>& dims,
                                            const Sharding& sharding);

}  // namespace roofline::core
