// Expected times of forward passes by models that are fitted to whole passes, as llama.cpp's benchmark measures them.
#pragma once

#include <optional>
#include <string>

#include "calibrate/pass/pass_model.hpp"
#include "model/serving_program.hpp"
#include "model/weights.hpp"
#include "plan/plan.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns the kernels of a priced pass at published rates. Chips of a pipeline split the layers. `sums_in_f16`
/// divides the times of matrix units by gain_of_f16_sums().
[[nodiscard]] PassParts pass_parts(const Prediction& priced, const ServingPass& pass, const Plan& plan,
                                   bool sums_in_f16);

/// Returns the expected time of a priced pass by the forward-pass models. Empty: there is none for the machine, or
/// the layers are split over the chips in another way than as a pipeline.
[[nodiscard]] std::optional<ExpectedPass> expected_whole_pass(const PassModels& models, const std::string& software,
                                                              const Prediction& priced, const ServingPass& pass,
                                                              const Plan& plan, double cores = 1);

/// Returns the library whose forward-pass model answers a question: the one that is named, or llama.cpp for weights in
/// block types of GGUF. "": none, kernel models are used.
[[nodiscard]] std::string whole_pass_library(const PassModels& models, const std::string& named,
                                             const std::optional<Quantisation>& quantisation);

}  // namespace roofline::core
