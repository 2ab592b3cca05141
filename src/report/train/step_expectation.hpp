// The derivation of the expected time of a training step in words.
#pragma once

#include <string>
#include <vector>

#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// Returns the step model with its numbers, for --explain. Empty without an expected time.
[[nodiscard]] std::string step_derivation(const StepTimes& times);

/// Returns its sentences.
[[nodiscard]] std::vector<std::string> step_sentences(const StepTimes& times);

/// Returns "mean error 10 %: dense models in 16 bits, 1,204 runs of 8 publishers, each left out of the fit in turn".
[[nodiscard]] std::string error_text(const StepTimes& times);

/// Returns a sentence if the host takes longer to launch the kernels of a step than the device takes to run them;
/// otherwise "".
[[nodiscard]] std::string host_text(const StepTimes& times);

}  // namespace roofline::core
