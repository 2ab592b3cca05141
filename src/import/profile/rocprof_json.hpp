// The JSON of rocprofv3.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// Whether a file begins as `rocprofv3 --output-format json` writes it.
[[nodiscard]] bool is_rocprof_json(std::string_view beginning);

/// Reads kernels and copies with the calls of HIP that launched them, and ranges of rocTX. Errors: `bad_trace` for text
/// that is not such JSON, or not all of it; `too_large` beyond 50 million events; `no_kernels`.
[[nodiscard]] Result<RecordedProfile> read_rocprof_json(std::string text, const std::string& name);

}  // namespace roofline::core
