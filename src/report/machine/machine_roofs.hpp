// A machine's figures as the lines of a roofline plot.
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "report/plot/plot.hpp"

namespace roofline::core {

/// One sloped roof for each memory level with a bandwidth.
[[nodiscard]] std::vector<PlotRoof> roofs_of(const Machine& machine);

/// One flat ceiling for each rate; dtypes that share it share its label.
[[nodiscard]] std::vector<PlotCeiling> ceilings_of(const Machine& machine);

}  // namespace roofline::core
