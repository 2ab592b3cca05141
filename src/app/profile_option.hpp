// Files that profilers wrote.
#pragma once

#include <memory>
#include <optional>
#include <string>

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

/// A file of measurements: the text of a table, or a recorded profile.
struct MeasuredFile {
    std::string text{};
    std::optional<RecordedProfile> profile{};
};

/// Reads a table, of at most 256 MiB, or a recorded profile. Errors: those of opening, unpacking and of the readers of
/// profiles; `file` if a table is larger.
[[nodiscard]] Result<MeasuredFile> read_measured(const NamedFile& file);

/// Reads the rest of a table of at most 256 MiB. Errors: those of reading; `file` if it is larger.
[[nodiscard]] Result<std::string> read_table(ByteSource& file, const std::string& name);

/// The name of a file without its folder.
[[nodiscard]] std::string file_name(const std::string& path);

}  // namespace roofline::core
