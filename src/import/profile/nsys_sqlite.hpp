// Reports of Nsight Systems, exported to SQLite.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// Whether a file begins as a database of SQLite does.
[[nodiscard]] bool is_sqlite(std::string_view text);

/// Reads a database of rocprofv3 (rocpd_sqlite.hpp), or what `nsys export --type sqlite` wrote: kernels, copies and
/// memory sets with their launches, and ranges of NVTX, which are annotations and the calls around launches; those of
/// PyTorch's emit_nvtx() name its operations. Columns that a version lacks are left out. Errors: `bad_profile` for a
/// damaged database and for one of other tables, `no_kernels` if it has no kernels, `no_sqlite` if the program was
/// built without SQLite.
[[nodiscard]] Result<RecordedProfile> read_nsys_sqlite(std::string_view bytes, const std::string& name);

}  // namespace roofline::core
