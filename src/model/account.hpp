// What a model's program adds up to: parameters, FLOPs, caches and activations, by part and by layer. All of it follows from the
// program; nothing here knows an architecture.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/rational.hpp"
#include "base/result.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// Counts of a part of a model. Exact; FLOPs are those of one token, averaged over the sequence.
struct PartCount {
    Rational params;       ///< stored
    Rational active;       ///< that one token meets: of experts, those that it is sent to
    Rational multiplying;  ///< of the active ones, those in products: no look-up, no scales, no biases
    Rational products;     ///< FLOPs of products with parameters, forward: 2 for each multiplying parameter
    Rational attention;  ///< FLOPs of products without parameters and of recurrences, forward; causal planes count half

    bool operator==(const PartCount&) const = default;
    PartCount& operator+=(const PartCount& other);
    [[nodiscard]] PartCount times(const Rational& count) const;
};

/// Counts by part: "embedding", "attention", "mixer", "mlp", "experts", "router", "norm", "head", "mtp" ...
using PartCounts = std::map<std::string, PartCount>;

/// What a step keeps for the next one. Elements, not bytes: the dtype is the user's choice.
struct CacheCount {
    Rational per_token;        ///< elements that one more token adds while every window has room for it
    Rational per_token_later;  ///< the same once all windows are full
    Rational sequence;         ///< of the whole sequence
    Rational state_bytes;      ///< what does not grow: states of recurrences, in their own dtypes

    CacheCount& operator+=(const CacheCount& other);
    [[nodiscard]] CacheCount times(const Rational& count) const;
};

/// Bytes for each token that the forward pass stores for the backward one, by what is kept.
struct ActivationCount {
    Rational none;      ///< everything that is stored: nothing is computed again
    Rational products;  ///< the results of products; the rest is computed again
    Rational full;      ///< what goes from layer to layer; each layer is computed again
};

struct LayerCounts {
    PartCounts parts;
    CacheCount cache;
};

struct ModelCounts {
    PartCounts parts;                 ///< of the whole model, without `mtp`
    PartCount total;                  ///< likewise
    PartCount mtp;                    ///< layers that predict tokens beyond the next one
    std::vector<LayerCounts> groups;  ///< one layer of each group
    CacheCount cache;
    ActivationCount activations;
    std::optional<double>
        attention_overtakes;  ///< the sequence at which attention's FLOPs pass those of mlp and experts; none: never
};

/// Errors: counts beyond 127 bits.
[[nodiscard]] Result<ModelCounts> count_model(const Model& model);

/// Active parameters in the publisher's convention.
[[nodiscard]] Rational active_params(const Model& model, const ModelCounts& counts);

}  // namespace roofline::core
