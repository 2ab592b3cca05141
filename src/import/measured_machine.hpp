// Makes a machine from the measurements of tools: it replaces figures of a base machine, or has only these figures.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/tool_figures.hpp"
#include "machine/imported_figure.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// One file with its figures.
struct ToolFile {
    std::string_view text;  ///< must outlive the call
    std::string name;
    ToolFigures figures;
};

/// The user's choice of a memory level for a figure: "L1=l2" for a tool's name, "l2" for figures without a name.
struct LevelChoice {
    std::string name;  ///< the tool's name; "" for bandwidths that name no level
    std::string level;
};

/// Parses "L1=l2" and "l2". Error: there is no such level.
[[nodiscard]] Result<LevelChoice> parse_level_choice(std::string_view text);

struct MeasuredMachine {
    Machine machine;
    std::vector<ImportedFigure> taken;
    std::vector<std::string> notes;
};

/// Puts the figures of all files into a copy of `base`, or into a machine that has only them. A bandwidth of a working
/// set belongs to the innermost cache of the base that holds it (for private caches: as many of them as there were
/// threads), else to the main memory. If several figures have one destination the highest is used because it was
/// reached; the previous value becomes an alternative. `id` names the machine; `date` is the date of the import.
/// Errors, with the line and column of the figure: a level is slower than one further out in the same files; a rate is
/// more than four times or less than a fiftieth of that of the base (another machine, or other units); a working set of
/// likwid-bench without a base or a level.
[[nodiscard]] Result<MeasuredMachine> measured_machine(const std::optional<Machine>& base,
                                                       const std::vector<ToolFile>& files,
                                                       const std::vector<LevelChoice>& levels, const std::string& id,
                                                       const std::string& date);

}  // namespace roofline::core
