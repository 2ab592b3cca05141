// What a model holds and does: parameters, FLOPs, bytes.
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

struct ModelQuestion {
    Config config;
    std::optional<std::int64_t> sequence{};      ///< tokens; none: the configuration's context
    std::optional<Dtype> weights{};              ///< of all parameters; none: as the checkpoint stores them
    std::optional<Dtype> kv_dtype{};             ///< none: bf16
    std::optional<Quantisation> quantisation{};  ///< of the checkpoint; none: nothing is quantised
};

struct ModelAnswer {
    Model model;
    ModelCounts counts;
    WeightBytes weights;
    Dtype kv_dtype = Dtype::bf16;
    std::vector<std::string> notes{};  ///< the model's, and those of the request
};

/// Bytes of that many elements of a cache in the answer's dtype.
[[nodiscard]] Rational kv_bytes(const ModelAnswer& answer, const Rational& elements);

/// Errors: those of build_model(), count_model() and weight_bytes().
[[nodiscard]] Result<ModelAnswer> account_of(const ModelQuestion& question);

}  // namespace roofline::core
