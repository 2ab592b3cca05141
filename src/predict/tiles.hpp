// Tiles of a program on a machine: those that were requested, and the best ones that fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// A requested tile.
struct TileChoice {
    /// Level that holds it: "vmem"; "": the level next to main memory, or on GPUs a thread block.
    std::string level{};
    std::optional<Sizes> sizes{};  ///< elements per dimension; empty: the best tile that fits
};

/// Returns the tiles for the choices on this machine. A tile is held in one memory level and determines the traffic of
/// the next level outwards. Adds notes on sizes that were chosen and on the bytes that tiles occupy. Errors: there is
/// no such level or dimension; the tile does not fit into the level (code no_fit).
[[nodiscard]] Result<std::vector<Tile>> choose_tiles(const Program& program, const Machine& machine, bool exact_flops,
                                                     const std::vector<TileChoice>& choices,
                                                     std::vector<std::string>& notes);

}  // namespace roofline::core
