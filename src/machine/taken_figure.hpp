// A figure that was taken over into a machine from somebody else's file.
#pragma once

#include <optional>
#include <string>

namespace roofline::core {

struct TakenFigure {
    std::string path;              ///< "hbm.bandwidth", "matmul.bf16"
    double value = 0;              ///< SI base units
    std::string unit;              ///< "FLOP/s" or "B/s"
    std::string text;              ///< "4.12 TB/s"
    std::optional<double> before;  ///< what the machine said until then
    std::string before_text;       ///< "" when it said nothing
    std::string from;              ///< "rocprof-compute HBMBw"
    std::string file;
    int line = 0;
    std::string note;
};

}  // namespace roofline::core
