// The layouts of a program that are best at some point of a sweep.
#pragma once

#include <cstdint>
#include <vector>

#include "bound/sweep.hpp"
#include "layout/lay_out.hpp"

namespace roofline::core {

struct SweptLayouts {
    std::vector<LaidOut> layouts;      ///< the first belongs to the program's own sizes
    std::vector<std::uint32_t> which;  ///< by point, in the order of for_each_size()
};

/// Chooses a layout at every point, as lay_out() does at one. In a long sweep all freedom is used only at some points,
/// because elsewhere one of their layouts may be better too (least_at_points()). Points with equal layouts share one.
/// The program must have been through apply_sweep(). Errors: as lay_out().
[[nodiscard]] Result<SweptLayouts> lay_out_sweep(const Program& program, const System& system,
                                                 const std::vector<SweepAxis>& axes,
                                                 LayoutFreedom freedom = LayoutFreedom::any);

/// Returns layouts in which the program may be faster than in the one with the least bound: for all sizes of the sweep,
/// those with the least sums of all work and those with the fewest collectives, all different, and with tensors used in
/// the shardings that they have. There are few of them. Errors: as lay_out().
[[nodiscard]] Result<std::vector<LaidOut>> lay_out_candidates(const Program& program, const System& system,
                                                              const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
