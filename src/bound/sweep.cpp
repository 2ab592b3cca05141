#include "bound/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/ascii.hpp"
#include "program/elementwise_products.hpp"
#include "units/size_range.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_points = max_range_sizes;

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
    return fail("bad_sweep", fmt::format("the sweep `{}` {}", text.substr(0, 60), why),
                "write, for example, B=1..512, B=1..4096*2, B=64..1024+64 or B=1,8,64");
}

}  // namespace

std::string SweepAxis::name() const { return fmt::format("{}", fmt::join(dims, " = ")); }

std::vector<SweepAxis> grid_axes(const std::vector<SweepAxis>& axes) {
    std::vector<SweepAxis> grid;
    std::ranges::copy_if(axes, std::back_inserter(grid), [](const SweepAxis& axis) { return !axis.computed; });
    return grid;
}

std::size_t point_count(const std::vector<SweepAxis>& axes) {
    std::size_t points = 1;
    for (const SweepAxis& axis : axes) {
        if (!axis.computed) points *= axis.sizes.size();  // each has a million sizes at most
    }
    return points;
}

Status check_point_count(const std::vector<SweepAxis>& axes) {
    if (point_count(axes) <= max_points) return {};
    return fail("bad_sweep", fmt::format("the sweep has more than {} points", max_points), "use a larger increment");
}

Result<SweepAxis> parse_sweep(std::string_view text) {
    SweepAxis axis;
    std::string_view range = text;
    for (std::size_t equals = range.find('='); equals != std::string_view::npos; equals = range.find('=')) {
        axis.dims.emplace_back(trimmed(range.substr(0, equals)));
        if (axis.dims.back().empty()) return bad(text, "names no dimension");
        range.remove_prefix(equals + 1);
    }
    if (axis.dims.empty()) return bad(text, "names no dimension");
    auto sizes = parse_size_range(range);
    if (!sizes) return bad(text, sizes.error().message);
    axis.sizes = std::move(*sizes);
    return axis;
}

Status apply_sweep(Program& program, const std::vector<SweepAxis>& axes) {
    ROOFLINE_CHECK(check_point_count(axes));
    std::set<std::string> swept;
    for (const SweepAxis& axis : axes) {
        for (const std::string& dim : axis.dims) {
            if (!swept.insert(dim).second) return fail("bad_sweep", fmt::format("`{}` is swept twice", dim));
            if (std::find(program.dims.begin(), program.dims.end(), dim) == program.dims.end()) {
                return fail("unknown_dimension", fmt::format("the program has no dimension `{}` to sweep", dim),
                            did_you_mean(dim, program.dims, fmt::format("it has {}", fmt::join(program.dims, ", "))));
            }
            program.sizes[dim] = *std::max_element(axis.sizes.begin(), axis.sizes.end());
        }
    }
    for (const std::string& dim : program.dims) {
        if (!program.sizes.contains(dim)) {
            return fail("unsized", fmt::format("a sweep needs a size for `{}`", dim),
                        fmt::format("give it: --dims {}=4096", dim));
        }
    }
    order_elementwise(program);
    return {};
}

void for_each_size(const std::vector<SweepAxis>& axes,
                   const std::function<void(std::span<const std::int64_t> sizes)>& visit) {
    std::vector<std::int64_t> sizes(axes.size());
    const std::size_t points = point_count(axes);
    for (std::size_t point = 0; point < points; ++point) {
        std::size_t rest = point;
        for (std::size_t i = axes.size(); i-- > 0;) {
            const SweepAxis& axis = axes[i];
            sizes[i] = axis.sizes[axis.computed ? point : rest % axis.sizes.size()];
            if (!axis.computed) rest /= axis.sizes.size();
        }
        visit(sizes);
    }
}

namespace {

// A program in several layouts, at the points of a sweep.
class SweptPrograms {
public:
    SweptPrograms(const Program& program, const std::vector<const ProgramAnalysis*>& analyses,
                  const std::vector<SweepAxis>& axes)
        : axes_(axes) {
        std::vector<std::string> dims;
        for (const SweepAxis& axis : axes) dims.insert(dims.end(), axis.dims.begin(), axis.dims.end());
        for (const ProgramAnalysis* analysis : analyses) {
            compiled_.emplace_back(program, *analysis, dims);
            points_.push_back(compiled_.back().make_point());
        }
        numbers_.resize(dims.size());
    }

    void go_to(std::span<const std::int64_t> sizes) {
        auto next = numbers_.begin();
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            next = std::fill_n(next, axes_[i].dims.size(), static_cast<double>(sizes[i]));
        }
    }

    const CompiledProgram::Point& at(std::size_t which) {
        compiled_[which].evaluate(numbers_, points_[which]);
        return points_[which];
    }

private:
    const std::vector<SweepAxis>& axes_;
    std::vector<CompiledProgram> compiled_;
    std::vector<CompiledProgram::Point> points_;
    std::vector<double> numbers_;
};

}  // namespace

void for_each_point(const Program& program, const std::vector<const ProgramAnalysis*>& analyses,
                    std::span<const std::uint32_t> which, const std::vector<SweepAxis>& axes,
                    const SweepVisitor& visit) {
    SweptPrograms programs(program, analyses, axes);
    std::size_t index = 0;
    for_each_size(axes, [&](std::span<const std::int64_t> sizes) {
        const std::size_t here = which.empty() ? 0 : which[index];
        ++index;
        programs.go_to(sizes);
        visit(sizes, programs.at(here), here);
    });
}

std::vector<std::uint32_t> least_at_points(const Program& program, const std::vector<const ProgramAnalysis*>& analyses,
                                           std::span<const std::uint32_t> groups, std::span<const std::uint32_t> which,
                                           const std::vector<SweepAxis>& axes) {
    SweptPrograms programs(program, analyses, axes);
    std::vector<std::uint32_t> least(which.begin(), which.end());
    std::size_t index = 0;
    for_each_size(axes, [&](std::span<const std::int64_t> sizes) {
        programs.go_to(sizes);
        std::uint32_t& best = least[index++];
        Bounds bounds = programs.at(best).bounds;
        const std::uint32_t group = groups[best];
        for (std::uint32_t i = 0; i < analyses.size(); ++i) {
            if (groups[i] != group || i == best) continue;
            const Bounds& other = programs.at(i).bounds;
            constexpr double alike = 1e-12;
            const bool no_longer = other.lower <= bounds.lower * (1 + alike);
            const bool shorter = other.lower < bounds.lower * (1 - alike) || other.upper < bounds.upper * (1 - alike);
            if (!no_longer || !shorter) continue;
            bounds = other;
            best = i;
        }
    });
    return least;
}

}  // namespace roofline::core
