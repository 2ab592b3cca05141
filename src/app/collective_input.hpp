// Measured collectives from a CSV table or from the output of nccl-tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/request.hpp"
#include "import/collective_table.hpp"
#include "import/nccl_tests.hpp"

namespace roofline::core {

/// Returns what the output of nccl-tests does not say: the operation, from --collective ("all-gather"; "" if not
/// given), and the number of ranks, from the slice of --on. Errors: an unknown operation; a slice that cannot be built.
[[nodiscard]] Result<NcclHints> nccl_hints(const std::string& operation, const std::vector<MachineRef>& machines);

}  // namespace roofline::core
