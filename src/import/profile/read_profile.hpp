// Reads what a profiler recorded, whatever its format.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"
#include "text/byte_source.hpp"

namespace roofline::core {

/// Whether a file that begins so, unpacked, is a recorded profile: a trace in Chrome's format, an XSpace proto, or a
/// report of Nsight Systems.
[[nodiscard]] bool is_recorded_profile(std::string_view beginning);

/// Reads a recorded profile that begins with `beginning`; `whole` has all of it, unpacked. Traces are read in parts;
/// the others need memory for the file, which is at most 2 GB. Errors: those of the readers.
[[nodiscard]] Result<RecordedProfile> read_profile(std::string_view beginning, ByteSource& whole,
                                                   const std::string& name);

}  // namespace roofline::core
