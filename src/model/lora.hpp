// LoRA: which projections of a model get low-rank adapters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/model.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

struct LoraOptions {
    std::int64_t rank = 16;
    /// Projections: the last word of their module in a checkpoint ("q_proj", or "q" for short), their name in the
    /// program ("Wq"), "attention" for those of that part, or "all-linear" for all but embedding, head and routers.
    /// Projections joined by + share the first factor, "q+k+v", as do those that are one module in the checkpoint.
    /// Empty: "attention".
    std::vector<std::string> on{};
    std::optional<Dtype> frozen{};  ///< dtype of the frozen matrices: fp8, int4 ...; empty: that of the model
};

/// Returns the model with adapters and with all its own parameters frozen. Errors: an unknown projection, with those
/// that there are; one that is named twice; a model without attention if nothing is named; a dtype that is not narrower
/// than the model's; those of with_adapters().
[[nodiscard]] Result<Model> with_lora(Model model, const LoraOptions& options);

/// Splits "q+k+v,o" at commas. Errors: an empty word.
[[nodiscard]] Result<std::vector<std::string>> lora_projections(std::string_view words);

}  // namespace roofline::core
