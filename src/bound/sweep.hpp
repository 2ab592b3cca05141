// Sweeps: one or two dimensions take many sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bound/analysis.hpp"

namespace roofline::core {

/// The sizes of one dimension, or of several that are kept equal.
struct SweepAxis {
    std::vector<std::string> dims;
    std::vector<std::int64_t> sizes;
    bool computed =
        false;  ///< from the sizes of the other axes: one size for each point, as for_each_size() visits them

    [[nodiscard]] std::string name() const;  ///< "B", "D = F"
};

/// The axes whose sizes are combined with one another to the points of the sweep: all that are not computed.
[[nodiscard]] std::vector<SweepAxis> grid_axes(const std::vector<SweepAxis>& axes);
/// Number of points; 1 without axes.
[[nodiscard]] std::size_t point_count(const std::vector<SweepAxis>& axes);
/// Errors: more than a million points.
[[nodiscard]] Status check_point_count(const std::vector<SweepAxis>& axes);

/// Parses "B=1..512" (every size), "B=1..4096*2" (each twice the last), "B=64..1024+64" (increments of 64), "B=1,8,64";
/// "D=F=1024,4096" keeps two dimensions equal. Errors: another form, a range that runs backwards, more than a million
/// sizes.
[[nodiscard]] Result<SweepAxis> parse_sweep(std::string_view text);

/// Visits the sizes of every point of the grid, one per axis, the last axis that is not computed fastest.
void for_each_size(const std::vector<SweepAxis>& axes,
                   const std::function<void(std::span<const std::int64_t> sizes)>& visit);

/// Visits every point, with one Point that is filled anew each time. Point i uses analyses[which[i]], or the first one
/// if `which` is empty. The analyses must be of this program, after apply_sweep().
using SweepVisitor =
    std::function<void(std::span<const std::int64_t> sizes, const CompiledProgram::Point& point, std::size_t which)>;
void for_each_point(const Program& program, const std::vector<const ProgramAnalysis*>& analyses,
                    std::span<const std::uint32_t> which, const std::vector<SweepAxis>& axes,
                    const SweepVisitor& visit);

/// Returns, by point, the analysis with the least lower bound, then the least upper bound, among those in the same
/// group as analyses[which[i]]; that one if none is less. It takes a microsecond per point and analysis.
[[nodiscard]] std::vector<std::uint32_t> least_at_points(const Program& program,
                                                         const std::vector<const ProgramAnalysis*>& analyses,
                                                         std::span<const std::uint32_t> groups,
                                                         std::span<const std::uint32_t> which,
                                                         const std::vector<SweepAxis>& axes);

/// Checks the axes against the program and gives each swept dimension the largest size of its axis. Errors: an axis
/// that the program lacks or that is given twice, more than a million points, another dimension without a size.
[[nodiscard]] Status apply_sweep(Program& program, const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
