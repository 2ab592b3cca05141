// An `op` answer as a picture of its mesh: the chips of the slice and which block of each array they hold.
#pragma once

#include <string>

#include "base/result.hpp"
#include "predict/prediction.hpp"
#include "report/plot/mesh_picture.hpp"

namespace roofline::core {

/// The chips of the slice with the mesh axes on them, and the arrays that are stored, each as a matrix of blocks.
/// Error no_mesh: nothing lies on a mesh.
[[nodiscard]] Result<MeshPicture> mesh_picture(const Prediction& answer);

[[nodiscard]] Result<std::string> op_mesh_plot(const Prediction& answer);

}  // namespace roofline::core
