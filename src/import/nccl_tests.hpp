// Reads the output of nccl-tests and rccl-tests: tables of one collective by size, as text or as the JSON of -J.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/collective_table.hpp"

namespace roofline::core {

/// What the user specifies if the output does not contain it.
struct NcclHints {
    std::optional<CollectiveKind> operation;
    std::int64_t ranks = 0;  ///< 0: unknown
};

/// Recognises the output by its contents.
[[nodiscard]] bool is_nccl_tests(std::string_view text);

/// Reads one or more runs. Each size gives a row out of place and one in place, as far as both were timed. The
/// operation is that of the header ("Collective test starting: all_reduce_perf"), of the command line before it, or of
/// the hint; the ranks are those of the list of devices or of the hint; `system` is the name of the devices; the
/// rounding of a time is half a step of its last digit. A truncated line, a line of zero bytes or of another operation
/// is skipped with the reason. Errors, with line and column: wrong results (#wrong above zero); no operation or no
/// ranks; CPU times (-C); bus bandwidths that do not match the operation and its ranks; truncated JSON; no row at all.
[[nodiscard]] Result<CollectiveTable> read_nccl_tests(std::string_view text, const std::string& source,
                                                      const NcclHints& hints);

}  // namespace roofline::core
