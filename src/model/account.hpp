// Totals of a model's program: parameters, FLOPs, caches and activations, by part and by layer. All of it follows from
// the program; nothing here depends on an architecture.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/rational.hpp"
#include "base/result.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// Counts of a part of a model. They are exact; FLOPs are per token, averaged over the sequence.
struct PartCount {
    Rational params;       ///< stored parameters
    Rational active;       ///< parameters that one token uses: of experts, only the chosen ones
    Rational multiplying;  ///< active parameters in matmuls: no look-ups, scales or biases
    Rational products;     ///< forward FLOPs of matmuls with parameters: 2 per multiplying parameter
    Rational attention;    ///< forward FLOPs of matmuls without parameters and of recurrences; causal masks count half
    Rational trained;      ///< stored parameters that are not frozen
    /// FLOPs of training: those of the forward pass, and as many again for each operand of a matmul that has a gradient
    Rational training;

    bool operator==(const PartCount&) const = default;
    PartCount& operator+=(const PartCount& other);
    [[nodiscard]] PartCount times(const Rational& count) const;
};

/// Counts by part: "embedding", "attention", "mixer", "mlp", "experts", "router", "norm", "head", "mtp" ...
using PartCounts = std::map<std::string, PartCount>;

/// The cache that a step keeps for the next one. In elements, not bytes, because the user chooses the dtype.
struct CacheCount {
    Rational per_token;        ///< elements that one more token adds while no window is full
    Rational per_token_later;  ///< the same once all windows are full
    Rational sequence;         ///< elements for the whole sequence
    Rational state_bytes;      ///< constant part: states of recurrences, in their own dtypes

    CacheCount& operator+=(const CacheCount& other);
    [[nodiscard]] CacheCount times(const Rational& count) const;
};

/// Bytes per token that the forward pass stores for the backward pass, for each kind of recomputation.
struct ActivationCount {
    Rational none;      ///< no recomputation: everything is stored
    Rational products;  ///< only results of matmuls are stored; the rest is recomputed
    Rational full;      ///< only the inputs of layers are stored; layers are recomputed
};

struct LayerCounts {
    PartCounts parts;
    CacheCount cache;
};

struct ModelCounts {
    PartCounts parts;                 ///< of the whole model, without `mtp`
    PartCount total;                  ///< of the whole model, without `mtp`
    PartCount mtp;                    ///< layers that predict tokens beyond the next one
    std::vector<LayerCounts> groups;  ///< one layer of each group
    CacheCount cache;
    ActivationCount activations;
    /// Sequence length at which attention's FLOPs exceed those of mlp and experts; none: never.
    std::optional<double> attention_overtakes;
};

/// Errors: counts beyond 127 bits.
[[nodiscard]] Result<ModelCounts> count_model(const Model& model);

/// Active parameters in the publisher's convention.
[[nodiscard]] Rational active_params(const Model& model, const ModelCounts& counts);

}  // namespace roofline::core
