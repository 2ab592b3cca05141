// The --tile option: "B=128,F=256", "smem:B=128,F=256", "best", "vmem:best".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline {

/// Turns the options into tiles on this machine. A tile is held in a level (the one next to main memory if none is named), and
/// says what crosses the next level outward. "best" is searched for. What was chosen or held goes into `notes`. Errors: no such
/// level, dimension or form; the tile does not fit the level (code no_fit).
[[nodiscard]] Result<std::vector<Tile>> resolve_tiles(const Program& program, const Machine& machine, bool exact_flops,
                                                      const std::vector<std::string>& options,
                                                      std::vector<std::string>& notes);

}  // namespace roofline
