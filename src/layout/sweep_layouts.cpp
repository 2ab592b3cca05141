#include "layout/sweep_layouts.hpp"

#include <map>
#include <optional>
#include <set>

#include "layout/layout_search.hpp"

namespace roofline::core {

namespace {

// The properties by which layouts differ: splits, results, and the collectives.
std::vector<std::uint32_t> key_of(const LayoutSearch& search, const ProgramLayout& layout) {
    std::vector<std::uint32_t> key;
    const auto add = [&](AxisList axes) { key.push_back(std::bit_cast<std::uint32_t>(axes)); };
    for (const ProgramLayout::Choice& choice : layout.choices) {
        for (const AxisList axes : choice.strategy.split) add(axes);
        for (std::size_t d = 0; d < choice.strategy.output.rank; ++d) add(choice.strategy.output.dims[d]);
        for (const TensorMove& move : choice.strategy.moves) {
            const Resharding& resharding = search.resharding(move.resharding);
            key.push_back(static_cast<std::uint32_t>(move.tensor * 1000 + resharding.moves.size()));
            for (const Move& collective : resharding.moves) {
                key.push_back(static_cast<std::uint32_t>(collective.kind));
                add(collective.axes);
                for (std::size_t d = 0; d < collective.held.rank; ++d) add(collective.held.dims[d]);
            }
        }
    }
    return key;
}

}  // namespace

Result<SweptLayouts> lay_out_sweep(const Program& program, const System& system, const std::vector<SweepAxis>& axes,
                                   LayoutFreedom freedom) {
    ROOFLINE_TRY(auto search, LayoutSearch::compile(program, system, {}, freedom));
    SweptLayouts swept;
    std::map<std::vector<std::uint32_t>, std::uint32_t> known;
    std::optional<Error> problem;
    const std::size_t points = point_count(axes);
    constexpr std::size_t searched = 32;
    const std::size_t stride = (points + searched - 1) / searched;
    const auto place = [&](const Sizes& sizes, std::size_t point) -> std::uint32_t {
        auto layout = point % stride == 0 ? search.choose(sizes) : search.choose_as_written(sizes);
        if (!layout) {
            problem = layout.error();
            return 0;
        }
        const auto [found, added] =
            known.emplace(key_of(search, *layout), static_cast<std::uint32_t>(swept.layouts.size()));
        if (!added) return found->second;
        auto laid = lay_out(program, system, search, *layout);
        if (!laid) {
            problem = laid.error();
            return 0;
        }
        swept.layouts.push_back(std::move(*laid));
        return found->second;
    };
    place(program.sizes, 0);
    Sizes sizes = program.sizes;
    for_each_size(axes, [&](std::span<const std::int64_t> at) {
        if (problem) return;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            for (const std::string& dim : axes[i].dims) sizes[dim] = at[i];
        }
        swept.which.push_back(place(sizes, swept.which.size()));
    });
    if (problem) return fail(*problem);
    return swept;
}

Result<std::vector<LaidOut>> lay_out_candidates(const Program& program, const System& system,
                                                const std::vector<SweepAxis>& axes) {
    ROOFLINE_TRY(auto search, LayoutSearch::compile(program, system, {}, LayoutFreedom::as_written));
    constexpr std::size_t most = 16;
    constexpr std::size_t max_points = 64;
    std::vector<Sizes> points{program.sizes};
    Sizes sizes = program.sizes;
    for_each_size(axes, [&](std::span<const std::int64_t> at) {
        for (std::size_t i = 0; i < axes.size(); ++i) {
            for (const std::string& dim : axes[i].dims) sizes[dim] = at[i];
        }
        points.push_back(sizes);
    });
    // The best layout at nearby sizes may be the fastest here; including it keeps times from jumping between
    // neighbouring sizes.
    if (axes.empty()) {
        for (const std::string& dim : program.dims) {
            const auto size = program.sizes.find(dim);
            if (size == program.sizes.end() || points.size() + 2 > max_points / 4) continue;
            for (const std::int64_t other : {size->second / 4, size->second * 4}) {
                if (other < 1 || size->second > std::int64_t{1} << 40) continue;
                points.push_back(program.sizes);
                points.back()[dim] = other;
            }
        }
    }
    const std::size_t stride = (points.size() + max_points - 1) / max_points;
    std::vector<LaidOut> laid;
    std::set<std::vector<std::uint32_t>> known;
    for (std::size_t i = 0; i < points.size() && laid.size() < most; i += stride) {
        ROOFLINE_TRY(const auto layouts, search.candidates(points[i]));
        for (const ProgramLayout& layout : layouts) {
            if (laid.size() == most || !known.insert(key_of(search, layout)).second) continue;
            ROOFLINE_TRY(auto one, lay_out(program, system, search, layout));
            laid.push_back(std::move(one));
        }
    }
    return laid;
}

}  // namespace roofline::core
