// A model as it is served: its program, and how its weights and caches are stored.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/expert_routing.hpp"
#include "model/serving_program.hpp"
#include "model/weights.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// A model built for passes of one kind, with the dtypes of its weights and KV cache, and how its experts are chosen.
struct ServedModel {
    Model model;
    WeightBytes weights;
    ServingDtypes stored;
    ExpertRouting routing{};
};

/// Adds how a model is stored. For `all` and `quantisation` see weight_bytes(). Errors: those of weight_bytes().
[[nodiscard]] Result<ServedModel> served_model(Model model, std::optional<Dtype> all,
                                               const std::optional<Quantisation>& quantisation, Dtype kv);

/// Builds a model for passes of one kind. For `decoding` see build_model(), for `all` and `quantisation`
/// weight_bytes(). Errors: those of build_model() and weight_bytes().
[[nodiscard]] Result<ServedModel> served_model(const Config& config, bool decoding, std::optional<Dtype> all,
                                               const std::optional<Quantisation>& quantisation, Dtype kv);

}  // namespace roofline::core
