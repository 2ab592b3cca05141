// The launch overhead of matmuls whose measurements do not show it, from other models of the same library.
#pragma once

#include <vector>

#include "calibrate/calibration.hpp"

namespace roofline::core {

/// Sets launch_s of all matmul models of one machine. A model whose shortest measured time is more than four times its
/// launch overhead, as fitted to the fewest rows, was not measured at sizes where a launch shows: it gets the least
/// launch overhead of the same library's matmuls that do show theirs, in any dtype. All other models get 0, as do those
/// of unnamed software and those of kernels that a host launched one by one.
void add_launches(std::vector<CalibratedKernel>& kernels);

}  // namespace roofline::core
