// Replica groups as lanes: the strides that all groups have in common, laid along the links of a slice.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "network/replica_groups.hpp"

namespace roofline::core {

namespace {

tl::unexpected<Error> irregular(const ReplicaGroups& groups) {
    return fail("irregular_groups",
                fmt::format("{} replica groups of {} do not lie at the same regular distances on the slice",
                            groups.groups, groups.size),
                "only groups along the axes of a mesh can be costed");
}

// Returns the strides of every group, innermost first; empty if they have none in common.
std::vector<StridedDim> dims_of_iota(const ReplicaGroups& groups) {
    std::vector<StridedDim> dims;  // as ordered, innermost first; dimensions that continue each other are merged
    for (std::size_t i = groups.order.size(); i-- > 0;) {
        const std::size_t dim = groups.order[i];
        std::int64_t stride = 1;
        for (std::size_t j = dim + 1; j < groups.dims.size(); ++j) stride *= groups.dims[j];
        if (groups.dims[dim] == 1) continue;
        if (!dims.empty() && dims.back().stride * dims.back().count == stride) {
            dims.back().count *= groups.dims[dim];
        } else {
            dims.push_back({groups.dims[dim], stride});
        }
    }
    std::vector<StridedDim> strided_dims;
    std::int64_t left = groups.size;
    for (const StridedDim& dim : dims) {
        if (left == 1) break;
        const bool whole = left % dim.count == 0;
        if (!whole && dim.count % left != 0) return {};
        strided_dims.push_back({whole ? dim.count : left, dim.stride});
        left /= strided_dims.back().count;
    }
    return strided_dims;
}

// The offset of member `i` of a group with these strides from the first member.
std::int64_t place(const std::vector<StridedDim>& strided_dims, std::int64_t i) {
    std::int64_t result = 0;
    for (const StridedDim& strided : strided_dims) {
        result += i % strided.count * strided.stride;
        i /= strided.count;
    }
    return result;
}

std::vector<StridedDim> dims_of_listed(const ReplicaGroups& groups) {
    std::vector<std::int64_t> members(groups.listed.begin(), groups.listed.begin() + groups.size);
    std::sort(members.begin(), members.end());
    std::vector<StridedDim> strided_dims;
    for (std::int64_t made = 1; made < groups.size;) {
        const std::int64_t stride = members[static_cast<std::size_t>(made)] - members[0];
        std::int64_t count = 1;
        while (made * (count + 1) <= groups.size &&
               members[static_cast<std::size_t>(made * count)] == members[0] + count * stride) {
            ++count;
        }
        if (count == 1) return {};
        strided_dims.push_back({count, stride});
        made *= count;
    }
    for (std::int64_t group = 0; group < groups.groups; ++group) {
        const auto begin = groups.listed.begin() + group * groups.size;
        members.assign(begin, begin + groups.size);
        std::sort(members.begin(), members.end());
        for (std::int64_t i = 0; i < groups.size; ++i) {
            if (members[static_cast<std::size_t>(i)] != members[0] + place(strided_dims, i)) return {};
        }
        for (const StridedDim& strided : strided_dims) {
            if (members[0] / strided.stride % strided.count != 0) return {};
        }
    }
    return strided_dims;
}

// Lays a stride along the links from the innermost on. A run that is longer than an axis continues along the next one.
bool add_lanes(const Slice& slice, StridedDim strided, std::vector<Lane>& lanes) {
    std::int64_t inside = 1;
    for (std::size_t tier = 0; tier < slice.tiers.size(); ++tier) {
        for (std::size_t axis = 0; axis < slice.tiers[tier].shape.size() && strided.count > 1; ++axis) {
            const std::int64_t size = slice.tiers[tier].shape[axis];
            const std::int64_t outside = inside * size;
            if (strided.stride < outside) {
                const std::int64_t stride = strided.stride / inside;
                if (strided.stride % inside != 0 || size % stride != 0) return false;
                const std::int64_t count = std::min(strided.count, size / stride);
                if (strided.count % count != 0 || size / stride % count != 0) return false;
                const bool closed = slice.tiers[tier].wrapped[axis] && stride * count == size;
                lanes.push_back({tier, axis, count, stride, closed});
                strided = {strided.count / count, outside};
            }
            inside = outside;
        }
    }
    return strided.count == 1;
}

}  // namespace

std::vector<StridedDim> strides_of(const ReplicaGroups& groups) {
    if (groups.size == 1) return {};
    std::vector<StridedDim> strides = groups.listed.empty() ? dims_of_iota(groups) : dims_of_listed(groups);
    std::sort(strides.begin(), strides.end(),
              [](const StridedDim& a, const StridedDim& b) { return a.stride < b.stride; });
    return strides;
}

Result<PlacedAxis> place_groups(const Slice& slice, const ReplicaGroups& groups) {
    if (groups.devices() != slice.chips()) {
        return fail("bad_groups", fmt::format("replica groups name {} devices, but the slice {} has {} chips",
                                              groups.devices(), slice.shape_text(), slice.chips()));
    }
    PlacedAxis axis{"groups", groups.size, {}};
    if (groups.size == 1) return axis;
    const std::vector<StridedDim> strided_dims = strides_of(groups);
    if (strided_dims.empty()) return irregular(groups);
    for (const StridedDim& strided : strided_dims) {
        if (!add_lanes(slice, strided, axis.lanes)) return irregular(groups);
    }
    std::sort(axis.lanes.begin(), axis.lanes.end(), [](const Lane& a, const Lane& b) {
        return std::tie(a.tier, a.axis, a.stride) < std::tie(b.tier, b.axis, b.stride);
    });
    return axis;
}

}  // namespace roofline::core
