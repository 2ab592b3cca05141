// Which machine's laws of kernels stand in for those of a machine that has none.
#pragma once

#include <string>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/kernel/fit_kernel_laws.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// How unlike two machines are: years apart where both have one (measured machines have none), and how often the rates
/// of their matrix units and memories and their cores double between them. Infinite for different vendors or kinds,
/// whose kernels are other people's.
[[nodiscard]] double unlikeness(const Machine& a, const Machine& b);

/// A law and the machine that it was fitted to.
struct CarriedKernel {
    const CalibratedKernel* law = nullptr;  ///< null where no relative has one
    std::string machine;                    ///< its id
};

/// The law of the nearest other machine of the catalogue that has one for such kernels, in their dtype or for any.
/// Constants are fractions of rates and follow those of the machine. Laws of what a host launched one by one are not
/// carried.
[[nodiscard]] CarriedKernel carried_kernel(Calibrations& calibrations, const Machine& machine, const KernelKey& key,
                                           const std::string& software);

/// Sets error_carried of all laws of kernels: the samples' rows by the law that carried_kernel() takes from the other
/// machines. It stays empty where there is none, and for machines that are not in the catalogue.
void measure_carrying(std::vector<Calibration>& all, const std::vector<KernelSample>& samples);

}  // namespace roofline::core
