// A checkpoint: the tensors in weight files, as their headers describe them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::core {

struct StoredTensor {
    std::string name;
    std::string dtype;                ///< the file's own name in lower case: "bf16", "f8_e4m3", "q4_k"
    std::vector<std::int64_t> shape;  ///< outermost dimension first
    std::int64_t elements = 0;        ///< product of the shape
    std::int64_t bytes = 0;
};

struct Checkpoint {
    std::string name;    ///< of the file, or of the index of several files
    std::string format;  ///< "safetensors", "gguf"
    std::size_t files = 1;
    std::vector<StoredTensor> tensors;  ///< in the order of the file
    std::vector<std::string> notes;
};

/// The role of a tensor in a model.
enum class TensorUse {
    parameter,
    packed,  ///< parameters of which several are packed in one integer: the shape does not tell how many
    scale,   ///< scales or zero points of a quantisation
    buffer,  ///< integers and masks that are computed, not learned
};

[[nodiscard]] TensorUse use_of(const StoredTensor& tensor);

/// The part of a model that a tensor belongs to: "embedding", "attention", "mlp", "experts", "router", "mixer", "norm",
/// "head", "mtp", "vision", "scales", "buffers" or "other", according to the words in its name
/// ("model.layers.0.mlp.up_proj.weight", "blk.0.ffn_up.weight").
[[nodiscard]] std::string part_of_tensor(const StoredTensor& tensor);

/// The layer's number: the first number in a name. None outside of layers.
[[nodiscard]] std::optional<std::int64_t> layer_of_tensor(std::string_view name);

/// The name inside a layer, with a star for each further number, so that all experts of a layer have one name:
/// "mlp.experts.*.up_proj.weight".
[[nodiscard]] std::string name_in_layer(std::string_view name);

struct StoredShare {
    std::int64_t tensors = 0;
    std::int64_t elements = 0;
    std::int64_t params = 0;  ///< elements of tensors that are parameters
    std::int64_t bytes = 0;

    void add(const StoredTensor& tensor);
};

/// Totals of a checkpoint. They cannot overflow because the readers limit the bytes of all tensors to 60 bits.
struct CheckpointSums {
    StoredShare total;
    std::map<std::string, StoredShare> by_dtype;
    std::map<std::string, StoredShare> by_part;
    std::map<std::int64_t, StoredShare> by_layer;  ///< without tensors outside of layers
    std::int64_t packed = 0;                       ///< tensors whose parameters cannot be counted
};

[[nodiscard]] CheckpointSums sums_of(const Checkpoint& checkpoint);

}  // namespace roofline::core
