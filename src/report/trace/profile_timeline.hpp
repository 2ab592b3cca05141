// One step of a recorded profile as a picture, and as a trace with what it should take below.
#pragma once

#include <string>

#include "predict/profile/profile_answer.hpp"

namespace roofline::core {

/// Returns an SVG document with a lane for kernels, one for collectives, one for copies, and one for kernels at their
/// expected times. Bars that would touch are drawn as one.
[[nodiscard]] std::string profile_timeline(const ProfileAnswer& answer);

/// Returns JSON in Chrome's trace event format, which Perfetto reads: a process with the streams of the device, and one
/// in which each event takes what its operation should take. It holds no names of hosts or users.
[[nodiscard]] std::string profile_trace(const ProfileAnswer& answer);

}  // namespace roofline::core
