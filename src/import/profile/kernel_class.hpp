// What kind of work a kernel does, by its name and that of the operation which launched it.
#pragma once

#include <string_view>

#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// Returns the class for reports: "matmul", "attention", "convolution", "norm", "softmax", "loss", "embedding",
/// "optimizer", "reduction", "elementwise", "collective", "copy", "sort", "random", "other". `operation` is the
/// framework's name, the category of XLA, or "".
[[nodiscard]] std::string_view kernel_class(DeviceWork work, std::string_view operation, std::string_view kernel);

/// Whether the name of a kernel says that it multiplies floats as TF32: "tf32", or the shape 16x8x8 of the instruction
/// in names of CUTLASS, "s1688gemm".
[[nodiscard]] bool multiplies_tf32(std::string_view kernel);

}  // namespace roofline::core
