// Compares a checkpoint with its configuration: finds the tensors that do not match.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/checkpoint.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// A difference between layers. Tensors are named with their shape: "mlp.up_proj.weight [14336, 4096]".
struct TensorDifference {
    std::vector<std::int64_t> layers;      ///< layers with this difference; none: outside of layers
    std::int64_t in_file = 0;              ///< parameters of one such layer
    std::int64_t in_configuration = 0;     ///< parameters of one such layer
    std::vector<std::string> only_file{};  ///< tensors without a counterpart of equal size
    std::vector<std::string> only_configuration{};
};

struct CheckpointCheck {
    std::int64_t in_file = 0;           ///< parameters of the language model with its `layer_count` layers
    std::int64_t in_configuration = 0;  ///< parameters without layers that predict further tokens
    std::int64_t further = 0;           ///< parameters of layers beyond those of the configuration
    std::int64_t vision = 0;            ///< parameters of vision and audio parts
    std::vector<TensorDifference> differences;
};

/// Compares sizes layer by layer because names differ between file formats. Packed integers cannot be compared: check
/// CheckpointSums::packed first.
[[nodiscard]] CheckpointCheck check_checkpoint(const Checkpoint& checkpoint, const Model& model);

}  // namespace roofline::core
