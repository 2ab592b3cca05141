// Conversion of a machine to the file formats of other tools.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// A value and its place in the other format.
struct ExportedFigure {
    std::string path;   ///< "hbm.bandwidth"
    std::string text;   ///< "4.1 TB/s"
    std::string place;  ///< "gbytes DRAM", "HBMBw"; "" if the format has no place for it
};

struct MachineExport {
    std::string format;  ///< "ERT", "rocprof-compute"
    std::string file;    ///< the path it is written to
    std::string text;
    std::vector<ExportedFigure> figures;
};

/// Writes roofline.json of the Empirical Roofline Toolkit: GB/s of the caches and the main memory, GFLOP/s of the
/// vector units in f64, f32 and f16.
[[nodiscard]] MachineExport ert_json(const Machine& machine, const std::string& file);

/// Writes roofline.csv of rocprof-compute. Values that the machine does not have are 0, as that tool writes them. Both
/// ends of each interval equal the value.
[[nodiscard]] MachineExport rocprof_csv(const Machine& machine, const std::string& file);

/// Returns a report of the values that were written and of those that have no place in the formats.
[[nodiscard]] std::string export_view(const Machine& machine, const std::vector<MachineExport>& exports, Format format);

}  // namespace roofline::core
