// Transfer of kernel models to machines without their own.
#pragma once

#include <string>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/kernel/fit_kernel_models.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// Returns the machine without what-ifs in its matmul and vector rates and its memory bandwidth, to the digits of their
/// texts. They change how fast it is and not which machines it is like: otherwise a better figure could choose the
/// models of a slower machine.
[[nodiscard]] Machine without_changes(const Machine& machine);

/// Returns a measure of the difference between two machines: the difference of their years, if both are known (measured
/// machines have none), plus the absolute log2 ratios of their matmul rates, memory bandwidths and numbers of cores.
/// Infinite for different vendors or kinds, whose kernels have different authors.
[[nodiscard]] double machine_distance(const Machine& a, const Machine& b);

/// A model and the machine that it was fitted on.
struct TransferredKernel {
    const CalibratedKernel* model = nullptr;  ///< null if no other machine has one
    std::string machine;                      ///< id of the machine
};

/// Returns the model for such kernels, with the same dtype or for any dtype, of the nearest other machine of the
/// catalogue. Its parameters are fractions of rates, so that the times follow the rates of `machine`. Models of kernels
/// that a host launched one by one are not transferred.
[[nodiscard]] TransferredKernel transferred_kernel(Calibrations& calibrations, const Machine& machine,
                                                   const KernelKey& key, const std::string& software);

/// Sets error_transferred of all kernel models: the error on the samples of the model that transferred_kernel()
/// transfers from the other machines. It stays empty if there is none, and for machines outside of the catalogue.
void measure_transfer_errors(std::vector<Calibration>& all, const std::vector<KernelSample>& samples);

}  // namespace roofline::core
