// A machine in the formats of other tools.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// A figure, and where the other format has it.
struct ExportedFigure {
    std::string path;   ///< "hbm.bandwidth"
    std::string text;   ///< "4.1 TB/s"
    std::string place;  ///< "gbytes DRAM", "HBMBw"; "" when the format has no place for it
};

struct MachineExport {
    std::string format;  ///< "ERT", "rocprof-compute"
    std::string file;    ///< where it goes
    std::string text;
    std::vector<ExportedFigure> figures;
};

/// The Empirical Roofline Tool's roofline.json: GB/s of the caches and the main memory, GFLOP/s of the vector units in
/// doubles, singles and halves.
[[nodiscard]] MachineExport ert_json(const Machine& machine, const std::string& file);

/// rocprof-compute's roofline.csv. What the machine does not have is 0, as that tool writes it; the ends of the
/// intervals are the figures themselves.
[[nodiscard]] MachineExport rocprof_csv(const Machine& machine, const std::string& file);

/// What was written and what had no place.
[[nodiscard]] std::string export_view(const Machine& machine, const std::vector<MachineExport>& exports, Format format);

}  // namespace roofline::core
