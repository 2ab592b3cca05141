// Files that profilers wrote.
#pragma once

#include "app/request.hpp"
#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// A file that may be a recorded profile.
struct OpenedProfile {
    std::unique_ptr<ByteSource> packed;
    std::unique_ptr<ByteSource> unpacked;
    std::string beginning;  ///< of the unpacked bytes, which were read already
};

/// Opens a file, packed by gzip or not. Errors: those of opening and unpacking.
[[nodiscard]] Result<OpenedProfile> open_profile(const NamedFile& file);

/// Reads a recorded profile. Errors: those of the readers; `bad_profile` for a file of another kind.
[[nodiscard]] Result<RecordedProfile> read_named_profile(const NamedFile& file);

/// The name of a file without its folder.
[[nodiscard]] std::string file_name(const std::string& path);

}  // namespace roofline::core
