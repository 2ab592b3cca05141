// The roofs and ceilings of a machine for a roofline plot.
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "report/plot/plot.hpp"

namespace roofline::core {

/// Returns one sloped roof per memory level with a known bandwidth.
[[nodiscard]] std::vector<PlotRoof> roofs_of(const Machine& machine);

/// Returns one flat ceiling per rate; dtypes with the same rate share a ceiling and its label.
[[nodiscard]] std::vector<PlotCeiling> ceilings_of(const Machine& machine);

}  // namespace roofline::core
