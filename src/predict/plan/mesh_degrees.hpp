// The degrees of a plan's mesh axes in a fixed order, and the marks by which a compiled step knows the axes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::core {

/// The mesh axes that split tensors, each with a prime number that stands for its degree in a compiled step: the
/// divisor of a shard then says over which axes it is split.
struct MarkedAxis {
    std::string_view name;
    std::int64_t mark;
};
inline constexpr std::array<MarkedAxis, 8> marked_axes{{{"data", 2},
                                                        {"fsdp", 3},
                                                        {"tensor", 5},
                                                        {"queries", 7},
                                                        {"sequence", 11},
                                                        {"sequence2", 13},
                                                        {"context", 17},
                                                        {"expert", 19}}};

/// By axis, in the order of `marked_axes`.
using MeshDegrees = std::array<std::int64_t, marked_axes.size()>;

/// Returns the place of an axis; the number of axes for one that splits no tensor.
[[nodiscard]] constexpr std::size_t marked_place(std::string_view name) {
    std::size_t place = 0;
    while (place < marked_axes.size() && marked_axes[place].name != name) ++place;
    return place;
}

/// Returns the product of the marks of some axes; those that split no tensor have none.
[[nodiscard]] inline std::int64_t mark_of(const std::vector<std::string>& axes) {
    std::int64_t mark = 1;
    for (const std::string& axis : axes) {
        const std::size_t place = marked_place(axis);
        if (place < marked_axes.size()) mark *= marked_axes[place].mark;
    }
    return mark;
}

/// Returns the product of the degrees of the axes whose marks multiply to `mark`.
[[nodiscard]] constexpr std::int64_t degree_of(const MeshDegrees& degrees, std::int64_t mark) {
    std::int64_t degree = 1;
    for (std::size_t i = 0; i < marked_axes.size(); ++i) {
        if (mark % marked_axes[i].mark == 0) degree *= degrees[i];
    }
    return degree;
}

}  // namespace roofline::core
