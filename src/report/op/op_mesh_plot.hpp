// A picture of the mesh of an `op` answer: the chips of the slice, and the block of each array that they hold.
#pragma once

#include <string>

#include "base/result.hpp"
#include "predict/prediction.hpp"
#include "report/plot/mesh_picture.hpp"

namespace roofline::core {

/// Returns the chips of the slice with the mesh axes, and the arrays in memory, each as a matrix of blocks. Error:
/// `no_mesh` if the program runs on no mesh.
[[nodiscard]] Result<MeshPicture> mesh_picture(const Prediction& answer);

[[nodiscard]] Result<std::string> op_mesh_plot(const Prediction& answer);

}  // namespace roofline::core
