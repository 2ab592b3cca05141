// A published measurement of a dispatch of tokens to experts on other chips, or of a combine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "units/dtype.hpp"

namespace roofline::core {

/// One row of a table of measurements.
struct MeasuredExchange {
    int line = 0;               ///< in the table
    std::string source;         ///< publisher, as the table gives it
    std::string system;         ///< as the table calls it: "h100_sxm"
    std::int64_t members = 0;   ///< chips that exchange; 0 if the table gives only nodes
    std::int64_t nodes = 1;     ///< as the table counts them (trays, in an NVL72)
    bool back = false;          ///< true for a combine, false for a dispatch
    std::string software;       ///< "sglang 0.5.12"; "" if not given
    std::string variant;        ///< "deepep normal"; "" if not given
    std::int64_t tokens = 0;    ///< per member
    std::int64_t hidden = 0;    ///< elements of the row of one token
    std::int64_t choices = 0;   ///< experts per token (top-k)
    std::int64_t experts = 0;   ///< of all members together
    std::int64_t cores = 0;     ///< cores that the exchange may use; 0 if not given
    Dtype dtype = Dtype::bf16;  ///< dtype in which rows are sent
    double time_s = 0;
};

}  // namespace roofline::core
