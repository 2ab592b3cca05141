// The pictures of an `op` answer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/prediction.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// Returns a picture of the given kind as SVG:
/// - roofline: one machine with its roofs and ceilings, and the operation (or the path of a sweep) with its expected
///   time. It includes roofs of the network if the program communicates. It shows only the roofs and ceilings that the
///   program uses, or all of them if `all_roofs`.
/// - sweep: attainable FLOP/s over the last swept dimension, one curve per size of the first one and per machine.
/// - mesh: the chips of the slice and the block of each array that they hold.
/// - timeline: the statements one after another, one lane per resource.
/// `measured_s` holds measured times in seconds, per kernel or per point of a sweep, which the first two kinds show
/// next to the predicted ones; it is empty if there are none. Errors: sizes are missing (only the mesh needs none);
/// there are several machines or a sweep where the picture shows one answer; a sweep plot has no sweep or more than 8
/// curves; a mesh picture has no mesh.
[[nodiscard]] Result<std::string> op_plot(std::span<const Prediction> answers, const std::vector<SweepAxis>& axes,
                                          PlotKind kind, bool all_roofs = false,
                                          const std::vector<double>& measured_s = {});

/// Returns the heading of a picture: the statement, or the program's name and number of kernels.
[[nodiscard]] std::string plot_title(const Prediction& answer);

/// Returns the sizes of the dimensions that are not swept: "B = 4096, D = 8192".
[[nodiscard]] std::string sizes_text(const Prediction& answer, const std::vector<SweepAxis>& axes);

}  // namespace roofline::core
