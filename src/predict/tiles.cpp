#include "predict/tiles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bound/pricing.hpp"
#include "notation/notation.hpp"
#include "units/text.hpp"
#include "work/tiling.hpp"

namespace roofline::core {

namespace {

// The level that holds a tile and the levels outside of it, outermost first.
struct HeldTile {
    const MemoryLevel* level = nullptr;
    std::vector<std::string> outside;
};

Result<HeldTile> level_of_tile(const Machine& machine, const std::string& name) {
    HeldTile held;
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

Status check_dims(const Program& program, const Sizes& tile) {
    for (const auto& [dim, size] : tile) {
        if (std::find(program.dims.begin(), program.dims.end(), dim) == program.dims.end()) {
            return fail("unknown_dimension", fmt::format("the program has no dimension `{}` to tile", dim),
                        did_you_mean(dim, program.dims, fmt::format("it has {}", fmt::join(program.dims, ", "))));
        }
    }
    return {};
}

/// Shared memory and registers of an SM, where GPUs keep the tile of a thread block.
struct BlockLevels {
    const MemoryLevel& operands;
    const MemoryLevel& sums;
};
std::optional<BlockLevels> block_levels(const Machine& machine) {
    const MemoryLevel* shared = machine.level("smem");
    const MemoryLevel* registers = machine.level("reg");
    if (shared == nullptr || registers == nullptr || !registers->capacity.value) return std::nullopt;
    if (!shared->block.value && !shared->capacity.value) return std::nullopt;
    return BlockLevels{*shared, *registers};
}

/// Operands pass through shared memory in slices of the contracted dimensions; this selects the longest slice that
/// fits. Errors: the shortest slice does not fit, or the accumulators need all registers.
Result<BlockBytes> fit_block(const Program& program, const KernelWork& kernel, const Machine& machine, Sizes& tile) {
    const BlockLevels home = *block_levels(machine);
    const Bytes room = home.operands.block.value.value_or(home.operands.capacity.value.value_or(Bytes{}));
    const Bytes registers = *home.sums.capacity.value;
    const std::string written = tile_text(program, tile);
    const auto refused = [&](const BlockBytes& needed) {
        return fail(
            "no_fit",
            fmt::format("a thread block's tile of {} needs {} of registers for its sums and {} of shared memory; an SM "
                        "of {} has {} of registers, which hold more than sums, and {} for one block",
                        written, to_text(Bytes{needed.sums}), to_text(Bytes{needed.operands}), machine.name,
                        capacity_text(registers), capacity_text(room)),
            "give a smaller tile, --tile M=128,N=128; or say where it is held: --tile l2:M=1024,N=1024");
    };
    std::vector<std::string> summed;
    for (const std::string& dim : summed_dims(program, kernel)) {
        if (!tile.contains(dim)) summed.push_back(dim);
    }
    BlockBytes needed;
    for (std::int64_t piece = 128; piece >= 16; piece /= 2) {
        for (const std::string& dim : summed) tile[dim] = piece;
        const auto bytes = block_bytes(program, kernel, tile);
        if (!bytes) return needed;  // sizes are not known yet
        needed = *bytes;
        if (needed.sums >= registers.value) break;
        if (needed.operands <= room.value) return needed;
        if (summed.empty()) break;
    }
    return refused(needed);
}

/// Adds the tile of a thread block: data from L2 is read once per block, data from main memory once for all blocks that
/// run at the same time.
Status add_block_tiles(const Program& program, const ProgramWork& work, const Machine& machine, const Sizes& written,
                       std::vector<Tile>& tiles, std::vector<std::string>& notes) {
    const BlockLevels home = *block_levels(machine);
    std::string pieces;
    BlockBytes most;
    for (const KernelWork& kernel : work.kernels) {
        if (kernel.matmuls.empty()) continue;
        Sizes tile = written;
        ROOFLINE_TRY(auto needed, fit_block(program, kernel, machine, tile));
        if (needed.operands < most.operands) continue;
        most = needed;
        pieces.clear();
        for (const auto& [dim, size] : tile) {
            if (!written.contains(dim)) pieces += fmt::format(" by {} of {}", size, dim_text(program, dim));
        }
    }
    std::vector<std::string> outside;
    for (const MemoryLevel& level : machine.memory) {
        if (level.id == home.operands.id) break;
        outside.push_back(level.id);
    }
    const std::string last = level_label(machine, outside.back());
    notes.push_back(fmt::format(
        "tile {} of a thread block: sums in registers ({} of {}), operands{} in {} ({} of {}); what crosses "
        "{} is fetched once for each block",
        tile_text(program, written), to_text(Bytes{most.sums}), capacity_text(*home.sums.capacity.value), pieces,
        home.operands.label, to_text(Bytes{most.operands}),
        capacity_text(home.operands.block.value.value_or(home.operands.capacity.value.value_or(Bytes{}))), last));
    std::vector<std::string> placed = outside;
    placed.emplace_back("host");
    tiles.push_back({outside.back(), placed, written});
    const MemoryLevel* cache = outside.size() > 1 ? machine.level(outside.back()) : nullptr;
    if (cache == nullptr) return {};
    if (work.kernels.size() != 1 || !program.sized() || !cache->capacity.value) {
        notes.push_back(
            fmt::format("what crosses {} is counted once: what {} keeps between blocks is worked out for one kernel "
                        "with sizes",
                        level_label(machine, outside.front()), last));
        return {};
    }
    const Sizes group =
        group_of_blocks(program, work.kernels.front(), written, home.operands.instances, cache->capacity.value->value);
    notes.push_back(
        group.empty()
            ? fmt::format("{} ({}) keeps all operands but the largest: what crosses {} is fetched once", last,
                          capacity_text(*cache->capacity.value), level_label(machine, outside.front()))
            : fmt::format("{} blocks run at the same time, so what crosses {} is fetched once for each {}, as far as "
                          "{} serves the others",
                          home.operands.instances, level_label(machine, outside.front()), tile_text(program, group),
                          last));
    tiles.push_back({outside.front(), {outside.front(), "host"}, group});
    return {};
}

}  // namespace

Result<std::vector<Tile>> choose_tiles(const Program& program, const Machine& machine, bool exact_flops,
                                       const std::vector<TileChoice>& choices, std::vector<std::string>& notes) {
    std::vector<Tile> tiles;
    if (choices.empty()) return tiles;
    ROOFLINE_TRY(auto work, derive_work(program, {exact_flops, {}}));
    for (const TileChoice& choice : choices) {
        if (choice.sizes) ROOFLINE_CHECK(check_dims(program, *choice.sizes));
        if (choice.level.empty() && choice.sizes && block_levels(machine)) {
            ROOFLINE_CHECK(add_block_tiles(program, work, machine, *choice.sizes, tiles, notes));
            continue;
        }
        ROOFLINE_TRY(auto held, level_of_tile(machine, choice.level));
        const MemoryLevel& home = *held.level;
        Sizes sizes;
        if (!choice.sizes) {
            if (work.kernels.size() != 1) {
                return fail(
                    "unsupported",
                    fmt::format("the best tile is searched for one kernel; the program has {}", work.kernels.size()),
                    "give sizes instead: --tile B=128,F=256");
            }
            if (!home.capacity.value)
                return fail("no_figure", fmt::format("the capacity of {} is not known", home.label));
            ROOFLINE_TRY(sizes, best_tile(program, work.kernels.front(), home.capacity.value->value));
        } else {
            sizes = *choice.sizes;
        }
        // A tile that covers a whole dimension does not split it.
        std::erase_if(sizes, [&](const auto& cut) {
            const auto size = program.sizes.find(cut.first);
            return size != program.sizes.end() && cut.second >= size->second;
        });
        double most = 0;
        for (const KernelWork& kernel : work.kernels) {
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
                                    room.empty() ? "" : " (" + room + ")", level_label(machine, held.outside.back()),
                                    sizes.empty() ? "" : " for each tile that needs it"));
        std::vector<std::string> placed = held.outside;
        placed.emplace_back("host");
        tiles.push_back({held.outside.back(), std::move(placed), std::move(sizes)});
    }
    return tiles;
}

}  // namespace roofline::core
