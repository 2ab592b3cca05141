// A machine made of what tools measured: figures of a base machine replaced, or a machine of nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/tool_figures.hpp"
#include "machine/machine.hpp"
#include "machine/taken_figure.hpp"

namespace roofline::core {

/// One file with its figures.
struct ToolFile {
    std::string_view text;  ///< outlives the call
    std::string name;
    ToolFigures figures;
};

/// Which level a figure belongs to where the user knows better than the tool: "L1=l2" of a tool's name, "l2" for figures without one.
struct LevelChoice {
    std::string name;  ///< the tool's; "" for bandwidths that name no level
    std::string level;
};

/// Reads "L1=l2" and "l2". Error: no level of that name.
[[nodiscard]] Result<LevelChoice> parse_level_choice(std::string_view text);

struct MeasuredMachine {
    Machine machine;
    std::vector<TakenFigure> taken;
    std::vector<std::string> notes;
};

/// Puts the figures of all files into a copy of `base`, or into a machine that has only them. A bandwidth over a working set
/// belongs to the innermost cache of the base that holds it (a cache of each core: with as many of them as there were threads),
/// else to the main memory. Of several figures for one place the highest counts: a roof is what something reached. What was
/// there before becomes an alternative. `id` names the machine, `date` is when the figures were taken over.
/// Errors, with line and column where the figure stands: a level that is slower than one further out in the same files; a rate
/// beyond four times that of the base or below a fiftieth of it (another machine, or other units); a working set of likwid-bench without a
/// base or a level.
[[nodiscard]] Result<MeasuredMachine> measured_machine(const std::optional<Machine>& base,
                                                       const std::vector<ToolFile>& files,
                                                       const std::vector<LevelChoice>& levels, const std::string& id,
                                                       const std::string& date);

}  // namespace roofline::core
