// What nccl-tests and rccl-tests print: tables of one collective by size, as text or as the JSON of -J.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/collective_table.hpp"

namespace roofline::core {

/// What the user says where the output does not.
struct NcclHints {
    std::optional<CollectiveKind> operation;
    std::int64_t ranks = 0;  ///< 0: not said
};

/// By the contents.
[[nodiscard]] bool is_nccl_tests(std::string_view text);

/// Reads one or more runs. Each size gives a row out of place and one in place, as far as both were timed. The operation is
/// that of the header ("Collective test starting: all_reduce_perf"), of the command line in front, or the hint's; the ranks are
/// those of the list of devices, or the hint's; `system` is what the devices are called; the time is off by half a step of its last digit. A line that is cut off, of no bytes or of another
/// operation is skipped, with the reason.
/// Errors, with line and column: results that were wrong (#wrong above zero); no operation or no ranks; CPU times (-C); bus
/// bandwidths that are not those of the operation and its ranks; JSON that ends in the middle; no row at all.
[[nodiscard]] Result<CollectiveTable> read_nccl_tests(std::string_view text, const std::string& source,
                                                      const NcclHints& hints);

}  // namespace roofline::core
