// An exchange of tokens with experts on other chips that somebody timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "units/dtype.hpp"

namespace roofline::core {

/// One row of a measurement table.
struct MeasuredExchange {
    int line = 0;               ///< of the table
    std::string source;         ///< who published it, as the table says
    std::string system;         ///< as the table names it: "h100_sxm"
    std::int64_t members = 0;   ///< chips that exchange; 0 where the table says nodes alone
    std::int64_t nodes = 1;     ///< as the table counts them (trays, in an NVL72)
    bool back = false;          ///< a combine; else a dispatch
    std::string software;       ///< "sglang 0.5.12"; "" where not said
    std::string variant;        ///< "deepep normal"; "" where not said
    std::int64_t tokens = 0;    ///< of one member
    std::int64_t hidden = 0;    ///< elements of a token's row
    std::int64_t choices = 0;   ///< experts of a token
    std::int64_t experts = 0;   ///< of all members
    std::int64_t cores = 0;     ///< that the exchange may take; 0 where not said
    Dtype dtype = Dtype::bf16;  ///< in which rows go
    double time_s = 0;
};

}  // namespace roofline::core
