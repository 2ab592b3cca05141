// Parameters, FLOPs and bytes of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/account.hpp"
#include "model/config.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// A question for the size and cost of a model.
struct ModelQuestion {
    Config config;
    std::optional<std::int64_t> sequence{};      ///< tokens; empty: the context length of the configuration
    std::optional<Dtype> weights{};              ///< of all parameters; empty: as in the checkpoint
    std::optional<Dtype> kv_dtype{};             ///< empty: bf16
    std::optional<Quantisation> quantisation{};  ///< of the checkpoint; empty: not quantized
};

/// The parameters, FLOPs and bytes of a model.
struct ModelAnswer {
    Model model;
    ModelCounts counts;
    WeightBytes weights;
    Dtype kv_dtype = Dtype::bf16;
    std::vector<std::string> notes{};  ///< notes of the model and of the request
};

/// Returns the bytes of `elements` elements of the KV cache in the answer's dtype.
[[nodiscard]] Rational kv_bytes(const ModelAnswer& answer, const Rational& elements);

/// Counts the parameters, FLOPs and bytes of a model. Errors: those of build_model(), count_model() and weight_bytes().
[[nodiscard]] Result<ModelAnswer> account_of(const ModelQuestion& question);

}  // namespace roofline::core
