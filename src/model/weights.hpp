// What a model's weights take in memory: all in one dtype, or as a quantised checkpoint holds them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/rational.hpp"
#include "base/result.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// How a matrix of weights is stored: so many bits for each, and for each block of `rows` x `columns` a scale and what else goes
/// with it. Rows run along what a product sums.
struct WeightFormat {
    std::string name;          ///< "fp8, blocks of 128 x 128"
    int bits = 16;             ///< of one weight
    int block_bits = 0;        ///< of a block's scale (and zero point)
    std::int64_t rows = 0;     ///< of a block; 0: the whole matrix
    std::int64_t columns = 1;  ///< likewise

    bool operator==(const WeightFormat&) const = default;
};

/// Which modules of a checkpoint are stored how. The first rule that names a module holds.
struct Quantisation {
    struct Rule {
        std::vector<std::string> modules;  ///< patterns; none: every matrix of a linear layer
        WeightFormat format;
    };
    std::string method;                ///< "fp8", "modelopt", ...
    std::vector<std::string> ignored;  ///< patterns of modules that keep the dtype of the checkpoint
    std::vector<Rule> rules;
    bool kv_is_fp8 = false;  ///< the checkpoint's own wish for its cache
};

/// The quantisation that a configuration speaks of, if it does; `apart` is the separate file of some tools, or null.
/// Errors: a method or format that is not known, patterns that are not understood.
[[nodiscard]] Result<std::optional<Quantisation>> quantisation_of(const Config& config, const FileValue* apart);

/// A parameter as it is stored, in all layers together.
struct StoredParam {
    std::optional<Dtype> dtype;  ///< what most of it is in, block scales apart; none for what is no parameter
    Rational bytes;              ///< with scales
};

struct WeightBytes {
    struct Share {
        Rational params;
        Rational bytes;
    };
    Rational total;
    std::map<std::string, Share> by_format;  ///< by the format's name
    std::string scheme;                      ///< "bf16", "fp8 (blocks of 128 x 128)"
    std::vector<StoredParam> by_value;       ///< by value of the model's program
};

/// Bytes of all stored parameters but those of `mtp`. With a dtype every parameter is in it; else they are in the dtype of the
/// checkpoint, and what `quantisation` says in its formats. Routers, norms and embeddings are never quantised by a checkpoint.
[[nodiscard]] Result<WeightBytes> weight_bytes(const Model& model, std::optional<Dtype> all,
                                               const std::optional<Quantisation>& quantisation);

}  // namespace roofline::core
