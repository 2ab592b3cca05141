#include "app/collective_input.hpp"

#include <fmt/format.h>

#include "app/system_option.hpp"
#include "base/ascii.hpp"

namespace roofline::core {

Result<NcclHints> nccl_hints(const std::string& operation, const std::vector<MachineRef>& machines) {
    NcclHints hints;
    if (!operation.empty()) {
        hints.operation = collective_in(operation);
        if (!hints.operation) {
            return fail(
                "bad_request", fmt::format("{} is no collective", in_ticks(operation)),
                did_you_mean(operation, {"all-gather", "reduce-scatter", "all-reduce", "all-to-all", "sendrecv"},
                             "there are all-gather, reduce-scatter, all-reduce, all-to-all and sendrecv"));
        }
    }
    if (machines.size() == 1 && names_slice(machines.front())) {
        ROOFLINE_TRY(auto slice, resolve_slice(machines.front(), {}));
        hints.ranks = slice.chips();
    }
    return hints;
}

}  // namespace roofline::core
