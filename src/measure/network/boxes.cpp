#include "measure/network/boxes.hpp"

#include <algorithm>
#include <cstring>

namespace roofline::core {

namespace {

// Offset of a place of the whole array in a box's array, in elements.
std::size_t offset(const Box& box, const std::vector<std::int64_t>& place) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < place.size(); ++d) at = at * box.size[d] + place[d] - box.start[d];
    return static_cast<std::size_t>(at);
}

// First dimension from which on `part` spans the whole box, so that its elements there are contiguous and copied at
// once.
std::size_t whole_from(const Box& part, const Box& box) {
    std::size_t d = part.size.size();
    while (d > 0 && part.size[d - 1] == box.size[d - 1]) --d;
    return d;
}

}  // namespace

std::size_t Box::elements() const {
    std::size_t count = 1;
    for (const std::int64_t each : size) count *= static_cast<std::size_t>(each);
    return count;
}

std::int64_t coordinate(const System& system, std::int64_t chip, std::size_t axis) {
    for (std::size_t i = system.mesh.size(); i-- > axis + 1;) chip /= system.mesh[i].size;
    return chip % system.mesh[axis].size;
}

Box box_of(const Sharding& sharding, const std::vector<std::int64_t>& sizes, const System& system, std::int64_t chip) {
    Box box;
    const bool none = sharding.at_chip() && sharding.at != chip;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        const AxisList axes = sharding.dims[d];
        std::int64_t index = 0;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            index = index * system.mesh[axes[i]].size + coordinate(system, chip, axes[i]);
        }
        const std::int64_t share = sizes[d] / chips_across(system, axes);
        box.start.push_back(index * share);
        box.size.push_back(none ? 0 : share);
    }
    if (none && sizes.empty()) box = {{0}, {0}};
    return box;
}

Box box_of(const HeldShard& held, const std::vector<std::int64_t>& sizes, const System& system, std::int64_t chip) {
    Box box = box_of(held.lies, sizes, system, chip);
    if (!held.has_halo()) return box;
    std::int64_t& start = box.start[held.dim];
    const std::int64_t end = std::min(start + box.size[held.dim] + held.behind, sizes[held.dim]);
    start = std::max<std::int64_t>(start - held.before, 0);
    box.size[held.dim] = end - start;
    return box;
}

Box common(const Box& a, const Box& b) {
    Box both;
    for (std::size_t d = 0; d < a.start.size(); ++d) {
        const std::int64_t start = std::max(a.start[d], b.start[d]);
        const std::int64_t end = std::min(a.start[d] + a.size[d], b.start[d] + b.size[d]);
        both.start.push_back(start);
        both.size.push_back(std::max<std::int64_t>(end - start, 0));
    }
    return both;
}

void copy_part(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box, const Box& part,
               std::size_t element_bytes) {
    if (part.elements() == 0) return;
    const std::size_t rank = part.size.size();
    const std::size_t whole = std::max(whole_from(part, to_box), whole_from(part, from_box));
    // each copy covers one row of the last dimension that is not whole in both boxes, and the dimensions after it
    const std::size_t loops = whole == 0 ? 0 : whole - 1;
    std::size_t row = element_bytes;
    for (std::size_t d = loops; d < rank; ++d) row *= static_cast<std::size_t>(part.size[d]);
    std::vector<std::int64_t> place = part.start;
    while (true) {
        std::memcpy(to + offset(to_box, place) * element_bytes, from + offset(from_box, place) * element_bytes, row);
        std::size_t d = loops;
        while (d > 0 && ++place[d - 1] == part.start[d - 1] + part.size[d - 1]) {
            place[d - 1] = part.start[d - 1];
            --d;
        }
        if (d == 0) return;
    }
}

}  // namespace roofline::core
