// Which picture an `op` answer makes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/prediction.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// The picture of that kind:
/// - roofline: of one machine, with the operation, its network roofs where it communicates, or the path of a sweep, and
/// what is
///   expected of them; the roofs and ceilings that the program uses, or with `all_roofs` those of the machine;
/// - sweep: attainable FLOP/s against the last swept dimension, a curve for each size of the first and each machine;
/// - mesh: the chips of the slice and what each holds of every array;
/// - timeline: statements one after the other, a lane for each resource.
/// Errors: no sizes (all but the mesh); several machines or a sweep where the picture shows one answer; a sweep plot
/// without a sweep or with more than 8 curves; a mesh picture without a mesh.
/// `measured_s`: times that were measured, which the first two show beside the predicted ones; of each kernel, or of
/// each point of a sweep. Empty for none.
[[nodiscard]] Result<std::string> op_plot(std::span<const Prediction> answers, const std::vector<SweepAxis>& axes,
                                          PlotKind kind, bool all_roofs = false,
                                          const std::vector<double>& measured_s = {});

/// What pictures are headed with: the statement, or the program's name and how many kernels it has.
[[nodiscard]] std::string plot_title(const Prediction& answer);

/// "B = 4096, D = 8192" of the dimensions that are not swept.
[[nodiscard]] std::string sizes_text(const Prediction& answer, const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
