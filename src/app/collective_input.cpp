#include "app/collective_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/system_option.hpp"
#include "base/ascii.hpp"

namespace roofline::core {

Result<NcclHints> nccl_hints(const std::string& operation, const std::vector<MachineRef>& machines) {
    NcclHints hints;
    if (!operation.empty()) {
        hints.operation = collective_in(operation);
        if (!hints.operation) {
            std::vector<std::string> tests;
            for (const CollectiveInfo& each : all_collectives) {
                if (!each.nccl.empty()) tests.emplace_back(each.nccl);
            }
            const auto last = tests.end() - 1;
            return fail("bad_request", fmt::format("{} is no collective", in_ticks(operation)),
                        did_you_mean(operation, tests,
                                     fmt::format("there are {} and {}", fmt::join(tests.begin(), last, ", "), *last)));
        }
    }
    if (machines.size() == 1 && names_slice(machines.front())) {
        ROOFLINE_TRY(auto slice, resolve_slice(machines.front(), {}));
        hints.ranks = slice.chips();
    }
    return hints;
}

}  // namespace roofline::core
