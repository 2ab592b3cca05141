// Tiles of a program on a machine: those that are given, and the best that fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// A tile that is asked for.
struct TileChoice {
    std::string level{};           ///< that holds it: "vmem"; "": the one next to main memory, on GPUs a thread block's
    std::optional<Sizes> sizes{};  ///< by dimension, elements; none: the best that fits
};

/// The tiles that are meant on this machine. A tile is held in a level, and says what crosses the next level outward.
/// What was chosen or held goes into `notes`. Errors: no such level or dimension; the tile does not fit the level (code
/// no_fit).
[[nodiscard]] Result<std::vector<Tile>> choose_tiles(const Program& program, const Machine& machine, bool exact_flops,
                                                     const std::vector<TileChoice>& choices,
                                                     std::vector<std::string>& notes);

}  // namespace roofline::core
