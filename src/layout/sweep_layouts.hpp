// The layouts of a program that are best somewhere in a sweep.
#pragma once

#include <cstdint>
#include <vector>

#include "bound/sweep.hpp"
#include "layout/lay_out.hpp"

namespace roofline::core {

struct SweptLayouts {
    std::vector<LaidOut> layouts;      ///< the first is that of the program's own sizes
    std::vector<std::uint32_t> which;  ///< by point, in the order of for_each_size()
};

/// Chooses a layout at every point, as lay_out() does at one, but in a long sweep with all freedom at some points alone: elsewhere one of
/// the others may be better (least_at_points()). Points whose layouts are alike share one. The program has been through
/// apply_sweep(). Errors: as lay_out().
[[nodiscard]] Result<SweptLayouts> lay_out_sweep(const Program& program, const System& system,
                                                 const std::vector<SweepAxis>& axes,
                                                 LayoutFreedom freedom = LayoutFreedom::any);

/// Layouts in which the program may be faster than in that with the least bound, whatever its sizes on the way through a sweep: those
/// with the least sums of all work and those with the fewest collectives, unlike each other, computing where tensors lie. A few at most. Errors: as lay_out().
[[nodiscard]] Result<std::vector<LaidOut>> lay_out_candidates(const Program& program, const System& system,
                                                              const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
