// Classification of kernels for their models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bound/times.hpp"
#include "calibrate/calibration.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// Returns the key of a kernel: its kind, and the operand dtypes of its first matmul, "bf16" or "bf16 x int8", or the
/// dtype that it quantizes to, or "" if it does neither. The backward pass of attention is the variant "backward",
/// those of grouped matmuls are "weight gradient" and "transposed". The software is not set.
[[nodiscard]] KernelKey kernel_key(const Program& local, const KernelWork& kernel);

/// Returns the kind only, without regard to masks, dtypes and groups.
[[nodiscard]] KernelKind kernel_kind(const KernelWork& kernel);

/// Returns whether the matmuls have the same rows and contract the same dimensions. Libraries compute them as a single
/// matmul with the columns of all of them.
[[nodiscard]] bool side_by_side(const std::vector<const MatmulShape*>& products);

/// Returns whether the matmul after the softmax uses an operand of one before it: latents, which are both keys and
/// values.
[[nodiscard]] bool has_latents(const KernelWork& kernel);

/// Returns the dimensions of a matmul's rows that are query heads with the same keys: all except the tokens. A causal
/// mask runs along the tokens; without a mask they are the row dimension of the softmax's result that precedes the
/// heads of the keys, as in [T, H, G, S], or else the last one, as in [H, G, T, S]. The list is
/// empty for a matmul without the mask's tokens. The result is std::nullopt if there is one row dimension and no mask,
/// because the dimension may be tokens or heads.
[[nodiscard]] std::optional<std::vector<std::string>> head_dims(const KernelWork& kernel, const MatmulShape& scores);

/// Returns the dimension of a KV cache from which the kernel gathers an operand of a matmul: keys in a window.
[[nodiscard]] std::optional<std::string> windowed_dim(const KernelWork& kernel);

/// Returns the bytes that all rows of a matmul share: in attention the keys and values.
[[nodiscard]] WeightedSum shared_bytes(const KernelWork& kernel, const MatmulShape& scores);

/// Returns the elements of all results of matmuls that the kernel does not write to memory, because only its own
/// further operations read them: scores, or the halves of a gated unit. Masks do not make them fewer.
[[nodiscard]] WeightedSum inner_results(const LocalDims& local, const KernelWork& kernel);

/// Returns the dimension of the rows of a group if a kernel multiplies groups that a dispatch of the program made.
[[nodiscard]] std::optional<std::string> group_dim(const ProgramWork& work, const KernelWork& kernel);

/// The rows and columns of a kernel without matmuls. They belong to the tensor with the most dimensions that it reads
/// or writes, preferably one that it writes. The columns are its last dimension and the rows all others; for rotations
/// of several heads, which have the same position, the columns are the last two dimensions.
struct KernelRows {
    Polynomial rows;
    Polynomial columns;
};
/// Returns the rows and columns of a kernel without matmuls.
[[nodiscard]] KernelRows rows_of(const LocalDims& local, const KernelWork& kernel);

}  // namespace roofline::core
