// What an expected time rests on: whose measurements, how many, and how far from them the request is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// A law that speaks for some kernels of a program.
struct LawBasis {
    const CalibratedKernel* law = nullptr;
    std::string machine;  ///< that it was fitted on
    bool carried = false;
    double error = 0;  ///< the greatest of the kernels that it speaks for
};
/// Each once, in the order of the kernels.
[[nodiscard]] std::vector<LawBasis> law_bases(const Prediction& answer);

/// "vllm 0.24.0, 26,418 measurements": the software of kernels and collectives with the sum of their laws'
/// measurements. "" where no kernel and no collective has a law.
[[nodiscard]] std::string expected_basis(const Prediction& answer);
/// The software alone: "vllm 0.24.0 + nccl 2.29.2".
[[nodiscard]] std::string expected_software(const Prediction& answer);

/// What is added to the error of laws by what they were not measured for, weighted by the kernels' times: sizes beyond
/// those measured, other machines, other kinds.
[[nodiscard]] double error_beyond_measured(const Prediction& answer);

/// A size of a kernel outside the range of those that were measured.
struct Extrapolated {
    std::string size;  ///< as the program has it: "K", "B*S"; else what it is: "keys"
    double value = 0;
    double limit = 0;  ///< the nearest that was measured
    double error = 0;  ///< of the kernel, and what it is inside the range
    double error_inside = 0;
};
[[nodiscard]] std::vector<Extrapolated> extrapolated(const Prediction& answer);

/// "extrapolated: K = 10,000,000 is 153 times the largest that was measured (65,536): error of 62 % instead of 4 %"
[[nodiscard]] std::string extrapolation_text(const Extrapolated& each);

/// Of a time by laws of another collective: "no all-gather was measured there: expected times are half those of
/// all-reduces ..."
[[nodiscard]] std::string stand_in_text(const ExpectedTime& expected, CollectiveKind kind);

}  // namespace roofline::core
