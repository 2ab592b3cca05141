// Measured collectives from whatever file holds them: a CSV table, or the output of nccl-tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/request.hpp"
#include "import/collective_table.hpp"
#include "import/nccl_tests.hpp"

namespace roofline::core {

/// What nccl-tests do not say of themselves: `operation` is what --collective names ("all-gather"; "" for nothing), and
/// a slice that --on names says how many ranks there are. Errors: an operation that is none, a slice that cannot be
/// wired.
[[nodiscard]] Result<NcclHints> nccl_hints(const std::string& operation, const std::vector<MachineRef>& machines);

}  // namespace roofline::core
