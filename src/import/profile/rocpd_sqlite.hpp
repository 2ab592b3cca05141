// rocpd, the database that rocprofv3 writes.
#pragma once

#ifdef ROOFLINE_HAVE_SQLITE

#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"
#include "import/profile/sqlite_file.hpp"

namespace roofline::core {

[[nodiscard]] bool is_rocpd(const SqliteFile& file);

/// Reads kernels and copies with the calls of HIP that launched them, and ranges of rocTX. Errors: `bad_profile`,
/// `no_kernels`.
[[nodiscard]] Result<RecordedProfile> read_rocpd(const SqliteFile& file);

}  // namespace roofline::core

#endif
