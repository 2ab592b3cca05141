// Figures of a machine that other tools measured: compute rates and bandwidths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "units/compute_unit.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// A compute rate.
struct ToolRate {
    Unit unit = Unit::vector;
    Dtype dtype = Dtype::f32;
};

/// A bandwidth of the level that the tool names, or of the level that holds the working set.
struct ToolBandwidth {
    std::string level;         ///< "l2"; "" if it follows from `working_set`
    double working_set = 0;    ///< bytes that all threads together access; 0: unknown
    std::int64_t threads = 0;  ///< threads that share the working set; 0: unknown
};

struct ToolFigure {
    std::variant<ToolRate, ToolBandwidth> what;
    std::string name;  ///< the tool's name for it: "HBMBw", "DRAM", "Triad", "copy_avx"
    double value = 0;  ///< FLOP/s or bytes/s
    double low = 0;    ///< lower end of the interval that the tool states; 0: none
    double high = 0;
    std::string note;        ///< "2 threads, 64 kB"
    std::size_t offset = 0;  ///< position of the figure in the file
};

/// The figures of one file.
struct ToolFigures {
    std::string tool;    ///< "rocprof-compute", "ERT", "likwid-bench", "STREAM", "BabelStream"
    std::string device;  ///< as the file names it; "" if it does not
    std::vector<ToolFigure> figures;
    std::vector<std::string> left_out;  ///< figures that a machine file cannot represent: "I64Ops (not measured)"
};

/// Reads the output of a tool, which is recognised by its contents:
/// - roofline.csv of rocprof-compute (formerly Omniperf): GB/s and GFLOP/s, one line per device; the median over
/// devices;
/// - roofline.json of ERT: GB/s by level and GFLOP/s;
/// - text of likwid-bench, one or more runs: MByte/s over a working set, MFlops/s of its peakflops tests;
/// - text of STREAM, and text or CSV of BabelStream: MB/s of each kernel.
/// Errors, with line and column: a file of another kind; a value that is not a number or implausible for one chip; a
/// run that reports its own failure; no figure at all.
[[nodiscard]] Result<ToolFigures> read_tool_figures(std::string_view text, const std::string& source);

}  // namespace roofline::core
