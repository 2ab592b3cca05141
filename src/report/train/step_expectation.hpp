// How the expected time of a training step came about, in words.
#pragma once

#include <string>

#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// The law of steps with its numbers put in, for --explain. Empty without an expected time.
[[nodiscard]] std::string step_derivation(const StepTimes& times);

/// "mean error 10 %: dense models in 16 bits, 1,204 runs of 8 publishers, each left out of the fit in turn"
[[nodiscard]] std::string error_text(const StepTimes& times);

/// A sentence where launching a step takes its host longer than the device takes to do it. Empty where it does not.
[[nodiscard]] std::string host_text(const StepTimes& times);

}  // namespace roofline::core
