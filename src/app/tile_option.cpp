#include "app/tile_option.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bound/pricing.hpp"
#include "notation/notation.hpp"
#include "units/text.hpp"
#include "work/tiling.hpp"

namespace roofline {

namespace {

// The level a tile is held in, and those outside of it, outermost first.
struct Held {
    const MemoryLevel* level = nullptr;
    std::vector<std::string> outside;
};

Result<Held> held_in(const Machine& machine, const std::string& name) {
    Held held;
    std::vector<std::string> levels;
    for (const MemoryLevel& level : machine.memory) {
        if (level.id != "hbm") levels.push_back(level.id);
        const bool wanted = name.empty() ? !held.outside.empty() : level.id == name && level.id != "hbm";
        if (wanted && held.level == nullptr) held.level = &level;
        if (held.level == nullptr) held.outside.push_back(level.id);
    }
    if (held.level != nullptr && !held.outside.empty()) return held;
    if (levels.empty()) {
        return fail("unknown_level", fmt::format("{} has no on-chip memory in its file to hold a tile", machine.name));
    }
    return fail("unknown_level", fmt::format("{} has no level `{}` to hold a tile", machine.name, name),
                did_you_mean(name, levels, fmt::format("its on-chip levels are {}", fmt::join(levels, ", "))));
}

std::string tile_text(const Program& program, const Sizes& tile) {
    std::vector<std::string> parts;
    for (const auto& [dim, size] : tile) parts.push_back(fmt::format("{}={}", dim_text(program, dim), size));
    return fmt::format("{}", fmt::join(parts, ", "));
}

Result<Sizes> written_tile(const Program& program, std::string_view text) {
    auto sizes = parse_sizes(text, "--tile");
    if (!sizes) return sizes;
    for (const auto& [dim, size] : *sizes) {
        if (std::find(program.dims.begin(), program.dims.end(), dim) == program.dims.end()) {
            return fail("unknown_dimension", fmt::format("the program has no dimension `{}` to tile", dim),
                        did_you_mean(dim, program.dims, fmt::format("it has {}", fmt::join(program.dims, ", "))));
        }
    }
    return sizes;
}

}  // namespace

Result<std::vector<Tile>> resolve_tiles(const Program& program, const Machine& machine, bool exact_flops,
                                        const std::vector<std::string>& options, std::vector<std::string>& notes) {
    std::vector<Tile> tiles;
    if (options.empty()) return tiles;
    auto work = derive_work(program, {exact_flops, {}});
    if (!work) return fail(work.error());
    for (const std::string& option : options) {
        const std::size_t colon = option.find(':');
        const std::string level = colon == std::string::npos ? "" : option.substr(0, colon);
        const std::string what = colon == std::string::npos ? option : option.substr(colon + 1);
        auto held = held_in(machine, level);
        if (!held) return fail(held.error());
        const MemoryLevel& home = *held->level;
        Sizes sizes;
        if (what == "best") {
            if (work->kernels.size() != 1) {
                return fail(
                    "unsupported",
                    fmt::format("the best tile is searched for one kernel; the program has {}", work->kernels.size()),
                    "give sizes instead: --tile B=128,F=256");
            }
            if (!home.capacity.value)
                return fail("no_figure", fmt::format("the capacity of {} is not known", home.label));
            auto best = best_tile(program, work->kernels.front(), home.capacity.value->value);
            if (!best) return fail(best.error());
            sizes = std::move(*best);
        } else {
            auto written = written_tile(program, what);
            if (!written) return fail(written.error());
            sizes = std::move(*written);
        }
        // A tile that holds the whole of a dimension does not cut it.
        std::erase_if(sizes, [&](const auto& cut) {
            const auto size = program.sizes.find(cut.first);
            return size != program.sizes.end() && cut.second >= size->second;
        });
        double most = 0;
        for (const KernelWork& kernel : work->kernels) {
            const auto bytes = tile_bytes(program, kernel, sizes);
            if (!kernel.matmuls.empty()) most = std::max(most, bytes.value_or(0));
        }
        if (home.capacity.value && most > home.capacity.value->value) {
            return fail("no_fit",
                        fmt::format("a tile of {} needs {}, one {} of {} holds {}",
                                    sizes.empty() ? "everything" : tile_text(program, sizes), to_text(Bytes{most}),
                                    home.label, machine.name, capacity_text(*home.capacity.value)),
                        "give smaller tiles, also for the summed dimension, or let it choose: --tile best");
        }
        std::string room = most > 0 ? to_text(Bytes{most}) : "";
        if (home.capacity.value) room += (room.empty() ? "" : " of ") + capacity_text(*home.capacity.value);
        notes.push_back(fmt::format("{} held in {}{}: what crosses {} is fetched once{}",
                                    sizes.empty() ? "whole operands" : "tile " + tile_text(program, sizes), home.label,
                                    room.empty() ? "" : " (" + room + ")", level_label(machine, held->outside.back()),
                                    sizes.empty() ? "" : " for each tile that needs it"));
        std::vector<std::string> placed = held->outside;
        placed.emplace_back("host");
        tiles.push_back({held->outside.back(), std::move(placed), std::move(sizes)});
    }
    return tiles;
}

}  // namespace roofline
