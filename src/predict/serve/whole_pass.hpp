// Expected times of passes from measurements of whole passes, as llama.cpp's benchmark makes them.
#pragma once

#include <optional>
#include <string>

#include "calibrate/pass/pass_model.hpp"
#include "model/serving_program.hpp"
#include "model/weights.hpp"
#include "plan/plan.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns the kernels of a priced pass at published rates. Chips of a pipeline have the layers in turn. `sums_in_f16`
/// divides the times of matrix units by gain_of_f16_sums().
[[nodiscard]] PassParts pass_parts(const Prediction& priced, const ServingPass& pass, const Plan& plan,
                                   bool sums_in_f16);

/// Returns the expected time of a priced pass by the models of whole passes. Empty: there is none for the machine, or
/// the chips share the layers in another way than in turn.
[[nodiscard]] std::optional<ExpectedPass> expected_whole_pass(const PassModels& models, const std::string& software,
                                                              const Prediction& priced, const ServingPass& pass,
                                                              const Plan& plan, double cores = 1);

/// Returns the library whose whole passes are the expected times of a question: the one that is named, or llama.cpp for
/// weights in block types of GGUF. "": none, kernels are timed one by one.
[[nodiscard]] std::string whole_pass_library(const PassModels& models, const std::string& named,
                                             const std::optional<Quantisation>& quantisation);

}  // namespace roofline::core
