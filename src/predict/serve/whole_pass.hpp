// Expected times of forward passes by models that are fitted to whole passes, as llama.cpp's benchmark measures them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "calibrate/pass/pass_model.hpp"
#include "model/serving_program.hpp"
#include "model/weights.hpp"
#include "plan/plan.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Prices another pass of the same model on the same slice.
using PassPricer = std::function<Result<Prediction>(const ServingPass&)>;

/// Returns the kernels of a priced pass at published rates. Chips of a pipeline split the layers. If the sums of the
/// family are in f16, the times of matrix units are divided by gain_of_f16_sums(). A prompt of more tokens than the
/// family's chunk reads weights once per chunk: a full chunk and the last one are priced by `price`, as passes of their
/// own, which read the experts that their tokens choose. Errors: those of `price`.
[[nodiscard]] Result<PassParts> pass_parts(const Prediction& priced, const ServingPass& pass, const Plan& plan,
                                           const PassFamily& family, const PassPricer& price);

/// Returns the family of chips whose model gives the times of passes, as PassModels::expected() does; without a time.
/// Empty: there is none for the machine, or the layers are split over the chips in another way than as a pipeline.
[[nodiscard]] std::optional<ExpectedPass> whole_pass_family(const PassModels& models, const std::string& software,
                                                            const Machine& machine, const Plan& plan);

/// Returns the expected time of a priced pass by the forward-pass models. Empty: whole_pass_family() has none. Errors:
/// those of `price`.
[[nodiscard]] Result<std::optional<ExpectedPass>> expected_whole_pass(const PassModels& models,
                                                                      const std::string& software,
                                                                      const Prediction& priced, const ServingPass& pass,
                                                                      const Plan& plan, const PassPricer& price);

/// Returns the library whose forward-pass model answers a question: the one that is named, or llama.cpp for weights in
/// block types of GGUF. "": none, kernel models are used.
[[nodiscard]] std::string whole_pass_library(const PassModels& models, const std::string& named,
                                             const std::optional<Quantisation>& quantisation);

}  // namespace roofline::core
