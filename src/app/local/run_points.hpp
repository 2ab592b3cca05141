// Runs the program of `run` for each choice of sizes: predicts, prepares, checks and times it.
#pragma once

#include <cstdint>
#include <vector>

#include "app/local/local_request.hpp"
#include "bound/sweep.hpp"
#include "measure/run/device.hpp"
#include "measure/sampling.hpp"
#include "report/run/run_report.hpp"

namespace roofline::core {

/// Returns the limits on the measuring time of one point.
[[nodiscard]] SamplingOptions sampling_of(Effort effort, int threads);

/// Converts a spread to the form that reports use.
[[nodiscard]] TimedRun timed_run(const Spread& spread);

/// Returns the sizes of the swept axes for each point; one point without sizes if nothing is swept. Errors: there are
/// too many points to measure in a reasonable time.
[[nodiscard]] Result<std::vector<std::vector<std::int64_t>>> points_of(const std::vector<SweepAxis>& axes);

/// Runs the request's program at each of its sizes on a device and compares it with the prediction if a machine is
/// named. Errors: those of `op`; a program for several chips; several machines; no memory; interrupted. A wrong result
/// is not an error here (RunPoint::right).
[[nodiscard]] Result<RunAnswer> run_points(const RunRequest& request, Device& device, Progress& progress);

}  // namespace roofline::core
