// A checkpoint beside its configuration: do its tensors add up to what the configuration says, and which do not?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/checkpoint.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// Tensors by name and shape: "mlp.up_proj.weight [14336, 4096]".
struct TensorDifference {
    std::vector<std::int64_t> layers;      ///< which of them differ alike; none: what lies outside of layers
    std::int64_t in_file = 0;              ///< parameters, of one such layer
    std::int64_t in_configuration = 0;     ///< likewise
    std::vector<std::string> only_file{};  ///< tensors without a counterpart of their size
    std::vector<std::string> only_configuration{};
};

struct CheckpointCheck {
    std::int64_t in_file = 0;           ///< parameters that are part of the language model and its `layer_count` layers
    std::int64_t in_configuration = 0;  ///< parameters without layers that predict further tokens
    std::int64_t further = 0;           ///< the file's in layers beyond those of the configuration
    std::int64_t vision = 0;            ///< the file's in parts that see or hear
    std::vector<TensorDifference> differences;
};

/// Compares sizes, layer by layer; names differ from one kind of file to another. A file whose integers are packed cannot be compared
/// so: ask CheckpointSums::packed first.
[[nodiscard]] CheckpointCheck check_checkpoint(const Checkpoint& checkpoint, const Model& model);

}  // namespace roofline::core
