// Notes on the kernel models behind an expected time.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns what a model is of, in words: "contraction in bf16".
[[nodiscard]] std::string spoken(const KernelKey& key);

/// Returns a note for each machine that models of these predictions, all of one machine, are transferred from.
[[nodiscard]] std::vector<std::string> notes_on_transfer(std::initializer_list<const Prediction*> answers);
/// Whether a note is one of these.
[[nodiscard]] bool is_on_transfer(const std::string& note, const Machine& machine);

/// Adds notes on what readers would not expect of the models of kernels: those of another machine, kind or dtype, and
/// sizes and times outside of the measured ones.
void add_kernel_notes(const Prediction& answer, std::vector<std::string>& notes);

}  // namespace roofline::core
