// What kind of work a kernel does, by its name and that of the operation which launched it.
#pragma once

#include <string_view>

#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// Returns the class for reports: "matmul", "attention", "convolution", "norm", "softmax", "loss", "embedding",
/// "optimizer", "reduction", "elementwise", "collective", "copy", "sort", "random", "other". `operation` is the
/// framework's name, the category of XLA, or "".
[[nodiscard]] std::string_view kernel_class(DeviceWork work, std::string_view operation, std::string_view kernel);

/// The type of the tensors in a list, which PyTorch does not record, as the name of the kernel tells it:
/// "c10::BFloat16" for "CatArrayBatchedCopy<c10::BFloat16", and for a copy of elements of two bytes, whose type
/// does not matter; "" if the name does not tell.
[[nodiscard]] std::string_view listed_type(std::string_view kernel);

/// Whether the name of a kernel says that it multiplies floats as TF32: "tf32", or the shape 16x8x8 of the instruction
/// in names of CUTLASS, "s1688gemm". Only for kernels that multiply floats of 32 bits: Turing has the same shape for 16
/// bits.
[[nodiscard]] bool multiplies_tf32(std::string_view kernel);

}  // namespace roofline::core
