// Groups of devices in the notations of XLA, and their placement on a slice.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "network/placement.hpp"
#include "network/slice.hpp"

namespace roofline::core {

/// A partition of devices 0 to groups * size - 1 into groups.
struct ReplicaGroups {
    std::int64_t groups = 1;
    std::int64_t size = 1;
    /// The devices in the order of these dimensions (row-major, the last runs fastest), traversed in another order:
    /// member `i` of group `g` is number g * size + i of them. Empty when the groups are listed.
    std::vector<std::int64_t> dims;
    std::vector<std::size_t> order;
    std::vector<std::int64_t> listed;  ///< group after group

    [[nodiscard]] std::int64_t devices() const { return groups * size; }
    [[nodiscard]] std::int64_t member(std::int64_t group, std::int64_t i) const;
};

/// Reads the text that follows `replica_groups=`:
///
/// {{0,1},{2,3}} : a list; {} is one group of all devices, whose number must then be given
/// [4,2]<=[2,4]T(1,0) : 4 groups of 2 out of 0..7, as 2x4 transposed
/// mesh['x'=2,'y'=4] {'x'} : over axes of a mesh, in its order, the last running fastest
/// mesh['a'=6,'b'=6] {'a':(1)3} : over the part of 3 of an axis with 1 outside of it (and 2 inside)
///
/// `devices`: their number, if known. Errors give the column: text in none of these notations, groups of unequal size,
/// a device that is named twice or missing, more than a billion devices, an invalid permutation, parts that do not
/// divide.
[[nodiscard]] Result<ReplicaGroups> parse_replica_groups(std::string_view text,
                                                         std::optional<std::int64_t> devices = std::nullopt);

/// A number of devices at a constant distance.
struct StridedDim {
    std::int64_t count = 1;
    std::int64_t stride = 1;
};

/// Returns the strides that all groups have in common, the smallest first: every group is its first device and those
/// at these distances. Empty if they have none in common, or a single member.
[[nodiscard]] std::vector<StridedDim> strides_of(const ReplicaGroups& groups);

/// Returns the groups as one mesh axis of the slice, for collective_load. Devices are numbered along the links,
/// innermost first: on h100-sxm:8x16 device 9 is chip 1 of node 1, on 4x4 device 5 is chip (1,1). Errors: a number of
/// devices other than the slice's; groups that are not lanes with the same strides (their members are irregular, so no
/// formula gives their load).
[[nodiscard]] Result<PlacedAxis> place_groups(const Slice& slice, const ReplicaGroups& groups);

}  // namespace roofline::core
