// Memory of a model's weights: all in one dtype, or as in a quantised checkpoint.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/rational.hpp"
#include "base/result.hpp"
#include "model/model.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// How a weight matrix is stored: a number of bits per weight, and a scale (and possibly more) for each block of `rows`
/// x `columns`. Rows run along the summed dimension.
struct WeightFormat {
    std::string name;          ///< "fp8, blocks of 128 x 128"
    int bits = 16;             ///< per weight
    int block_bits = 0;        ///< for the scale (and zero point) of a block
    std::int64_t rows = 0;     ///< per block; 0: the whole matrix
    std::int64_t columns = 1;  ///< per block

    bool operator==(const WeightFormat&) const = default;
};

/// The formats of a checkpoint's modules. The first rule that matches a module applies.
struct Quantisation {
    struct Rule {
        std::vector<std::string> modules;  ///< patterns; none: every matrix of a linear layer
        WeightFormat format;
    };
    std::string method;                ///< "fp8", "modelopt", ...
    std::vector<std::string> ignored;  ///< patterns of modules that keep the dtype of the checkpoint
    std::vector<Rule> rules;
    bool kv_is_fp8 = false;  ///< the checkpoint requests it for its KV cache
    /// Of GGUF files, which quantise embeddings, too: the type of each matrix by the name of the parameter in the
    /// architecture's program, one for all layers or one per layer. "*": of every matrix that has no entry.
    std::map<std::string, std::vector<Dtype>, std::less<>> types{};
};

/// Returns the type that Quantisation::types gives a parameter of a layer; empty if it gives none.
[[nodiscard]] std::optional<Dtype> stored_type(const Quantisation& quantisation, std::string_view param,
                                               std::int64_t layer);

/// The quantisation that a configuration describes, if any; `apart` is the separate file that some tools write, or
/// null. Errors: unknown methods or formats, patterns that are not supported.
[[nodiscard]] Result<std::optional<Quantisation>> quantisation_of(const Config& config, const FileValue* apart);

/// The quantisation of checkpoints that servers use in a dtype: the model's own if it has as many bits; else all
/// matrices of linear layers except the head, and with 4 bits and experts except those of attention, as in NVIDIA's
/// checkpoints of Kimi K2.5 and DeepSeek V3.1 in NVFP4. Empty for more than 8 bits: all parameters have that dtype.
[[nodiscard]] std::optional<Quantisation> usual_quantisation(const std::optional<Quantisation>& own, Dtype dtype,
                                                             bool experts);

/// A stored parameter, all layers together.
struct StoredParam {
    std::optional<Dtype> dtype;  ///< dtype of most of it, without block scales; none if it is not a parameter
    Rational bytes;              ///< with scales
};

struct WeightBytes {
    struct Share {
        Rational params;
        Rational bytes;
    };
    Rational total;
    std::map<std::string, Share> by_format;  ///< by name of the format
    std::string scheme;                      ///< "bf16", "fp8 (blocks of 128 x 128)"
    std::vector<StoredParam> by_value;       ///< by value of the model's program
};

/// Bytes of all stored parameters except those of `mtp`. If `all` is set, every parameter is in that dtype; otherwise
/// parameters are in the dtype of the checkpoint, or in the formats of `quantisation`. Checkpoints never quantise
/// routers, norms and embeddings.
[[nodiscard]] Result<WeightBytes> weight_bytes(const Model& model, std::optional<Dtype> all,
                                               const std::optional<Quantisation>& quantisation);

}  // namespace roofline::core
