// A figure that was imported into a machine from another tool's file.
#pragma once

#include <optional>
#include <string>

namespace roofline::core {

struct ImportedFigure {
    std::string path;              ///< "hbm.bandwidth", "matmul.bf16"
    double value = 0;              ///< SI base units
    std::string unit;              ///< "FLOP/s" or "B/s"
    std::string text;              ///< "4.12 TB/s"
    std::optional<double> before;  ///< the machine's previous value
    std::string before_text;       ///< "" if it had none
    std::string from;              ///< "rocprof-compute HBMBw"
    std::string file;
    int line = 0;
    std::string note;
};

}  // namespace roofline::core
