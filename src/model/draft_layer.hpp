// The layer of a model that predicts tokens beyond the next one, as a model of its own that drafts them.
#pragma once

#include "base/result.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// Returns the model that drafts a token with a further layer of `model` (multi-token prediction, DeepSeek-V3, arXiv
/// 2412.19437, section 2.2): the embedding of the newest token, beside the state of the layer before it [B, T, 2 D], is
/// projected to D and goes through one layer like the model's last, a norm and the head. The parameters of embedding
/// and head are those of `model`; no other value of it is kept. Errors: the model has no such layer; more than one
/// tensor passes from layer to layer.
[[nodiscard]] Result<Model> draft_layer(Model model);

}  // namespace roofline::core
