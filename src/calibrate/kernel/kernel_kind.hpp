// What a kernel is to its law, as its operations say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bound/times.hpp"
#include "calibrate/calibration.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// What a kernel is to its law: its kind, and the dtypes that its first product multiplies, "bf16" or "bf16 x int8", or
/// the dtype that it quantises to, none where nothing is multiplied or quantised. The software is not set.
[[nodiscard]] KernelKey kernel_key(const Program& local, const KernelWork& kernel);

/// The kind alone, where neither masks nor dtypes nor groups matter.
[[nodiscard]] KernelKind kernel_kind(const KernelWork& kernel);

/// Products of the same rows over the same dimensions: to a library they are one, as wide as all together.
[[nodiscard]] bool side_by_side(const std::vector<const MatmulShape*>& products);

/// True where the product behind the softmax multiplies what one before it did: latents, which are keys and values at
/// once.
[[nodiscard]] bool has_latents(const KernelWork& kernel);

/// Dimensions of a product's rows that are heads of queries to the same keys: all but the tokens, which a causal mask
/// runs along; where there is no mask, they come last in what a softmax makes of the scores. None in a product without
/// the mask's tokens; empty where rows have one dimension and no mask, which may be tokens or heads.
[[nodiscard]] std::optional<std::vector<std::string>> head_dims(const KernelWork& kernel, const MatmulShape& scores);

/// The dimension of a cache of which a product's operand is some places, gathered in the same kernel: keys in a window.
[[nodiscard]] std::optional<std::string> windowed_dim(const KernelWork& kernel);

/// Bytes of what all rows of a product read alike: of attention the keys and values.
[[nodiscard]] WeightedSum shared_bytes(const KernelWork& kernel, const MatmulShape& scores);

/// Rows of a kernel without products, and their columns: all but the last dimension of the tensor with most dimensions
/// that it reads or writes, of several that it writes; and the last one. Positions of all heads are rotated by row: the
/// last two.
struct KernelRows {
    Polynomial rows;
    Polynomial columns;
};
[[nodiscard]] KernelRows rows_of(const KernelWork& kernel);

}  // namespace roofline::core
