// Notes on the kernel models behind an expected time.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns what a model is of, in words: "contraction in bf16".
[[nodiscard]] std::string spoken(const KernelKey& key);

/// Adds notes on what readers would not expect of the models of kernels: those of another machine, kind or dtype, and
/// sizes and times outside of the measured ones.
void add_kernel_notes(const Prediction& answer, std::vector<std::string>& notes);

}  // namespace roofline::core
