// What `run` does for each choice of sizes: predict, make ready, check, time.
#pragma once

#include <cstdint>
#include <vector>

#include "app/local/local_request.hpp"
#include "bound/sweep.hpp"
#include "measure/run/device.hpp"
#include "measure/sampling.hpp"
#include "report/run/run_report.hpp"

namespace roofline::core {

/// How long the timing of one point may take.
[[nodiscard]] SamplingOptions sampling_of(Effort effort, int threads);

/// As reports have it.
[[nodiscard]] TimedRun timed_run(const Spread& spread);

/// The sizes of the swept axes, point by point; one point without sizes where nothing is swept. Errors: more points
/// than anybody waits for.
[[nodiscard]] Result<std::vector<std::vector<std::int64_t>>> points_of(const std::vector<SweepAxis>& axes);

/// The whole answer: the request's program at each of its sizes on a device, beside its prediction where a machine is
/// named. Errors: those of `op`; a program of several chips; several machines; no memory; interrupted. A result that is
/// wrong is no error here (RunPoint::right).
[[nodiscard]] Result<RunAnswer> run_points(const RunRequest& request, Device& device, Progress& progress);

}  // namespace roofline::core
