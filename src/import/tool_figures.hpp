// What other tools measured of a machine: rates of arithmetic and bandwidths, as their files say them.
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

/// A rate of arithmetic.
struct ToolRate {
    Unit unit = Unit::vector;
    Dtype dtype = Dtype::f32;
};

/// A bandwidth, of a level that the tool names or of whatever holds the bytes that it went over.
struct ToolBandwidth {
    std::string level;         ///< "l2"; "" when it follows from `working_set`
    double working_set = 0;    ///< bytes that all threads together went over; 0: not said
    std::int64_t threads = 0;  ///< that shared them; 0: not said
};

struct ToolFigure {
    std::variant<ToolRate, ToolBandwidth> what;
    std::string name;  ///< what the tool calls it: "HBMBw", "DRAM", "Triad", "copy_avx"
    double value = 0;  ///< FLOP/s or bytes/s
    double low = 0;    ///< of the spread that the tool states; 0: none
    double high = 0;
    std::string note;        ///< "2 threads, 64 kB"
    std::size_t offset = 0;  ///< where the figure stands in the file
};

/// One file.
struct ToolFigures {
    std::string tool;    ///< "rocprof-compute", "ERT", "likwid-bench", "STREAM", "BabelStream"
    std::string device;  ///< as the file names it; "" where it does not
    std::vector<ToolFigure> figures;
    std::vector<std::string> left_out;  ///< what the file has and a machine file cannot take: "I64Ops (not measured)"
};

/// Reads the output of one of the tools, which is recognised by its contents:
/// - rocprof-compute's roofline.csv (formerly Omniperf): GB/s and GFLOP/s, a line for each device; of several their median;
/// - ERT's roofline.json: GB/s by level and GFLOP/s;
/// - likwid-bench's text, one or more runs: MByte/s over a working set, MFlops/s of its peakflops tests;
/// - the text of STREAM and the text or CSV of BabelStream: MB/s of each kernel.
/// Errors, with line and column: a file of another kind; what is no number or cannot be a figure of one chip; a run that says
/// itself that it failed; no figure at all.
[[nodiscard]] Result<ToolFigures> read_tool_figures(std::string_view text, const std::string& source);

}  // namespace roofline::core
