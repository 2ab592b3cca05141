// Provenance of an expected time: the machine and software of its measurements, their number, and extrapolation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// A kernel model that predicts some kernels of a program.
struct ModelBasis {
    const CalibratedKernel* model = nullptr;
    std::string machine;  ///< the machine whose measurements it was fitted to
    bool transferred = false;
    double error = 0;  ///< the largest error among the kernels that it predicts
};
/// Returns the kernel models of a prediction, each once, in the order of the kernels.
[[nodiscard]] std::vector<ModelBasis> model_bases(const Prediction& answer);

/// Returns the software of all kernels and collectives with the number of measurements of their models: "vllm 0.24.0,
/// 26,418 measurements". "" if no kernel and no collective has a model.
[[nodiscard]] std::string expected_basis(const Prediction& answer);
/// Returns the software only: "vllm 0.24.0 + nccl 2.29.2".
[[nodiscard]] std::string expected_software(const Prediction& answer);

/// Returns what extrapolation in size, transfer from other machines and substitution by other kinds of kernels add to
/// the relative error of the models; an average over the kernels, weighted by their times.
[[nodiscard]] double additional_error(const Prediction& answer);

/// A size of a kernel that lies outside the measured range.
struct ExtrapolatedSize {
    std::string size;  ///< as the program writes it ("K", "B*S"), or else a description ("keys")
    double value = 0;
    double limit = 0;  ///< the nearest size that was measured
    double error = 0;  ///< relative error of the kernel, and its error inside the measured range
    double error_inside = 0;
};
/// Returns the extrapolated sizes of a prediction's kernels.
[[nodiscard]] std::vector<ExtrapolatedSize> extrapolated(const Prediction& answer);

/// What the notes on extrapolated sizes begin with.
inline constexpr std::string_view extrapolation_mark = "extrapolated:";
/// Returns the note on an extrapolated size: "extrapolated: K = 10,000,000 is 153 times the largest that was measured
/// (65,536): error of 62 % instead of 4 %".
[[nodiscard]] std::string extrapolation_text(const ExtrapolatedSize& each);

/// The software of kernel models whose parameters are fitted to whole forward passes or training steps.
inline constexpr std::string_view whole_passes = "whole passes";
/// Returns the note on kernels that were never measured singly, because their models are fitted to whole passes. "" if
/// there are none.
[[nodiscard]] std::string whole_passes_text(const Prediction& answer);

/// Returns the note on the measurements that would give a machine of the catalogue expected times. "" if it has some.
[[nodiscard]] std::string wanted_measurements_text(const Prediction& answer);

/// Returns the note on a time that was predicted with the model of another collective: "no all-gather was measured
/// there: expected times are half those of all-reduces ...".
[[nodiscard]] std::string stand_in_text(const ExpectedTime& expected, CollectiveKind kind);

}  // namespace roofline::core
