// Which call of the framework launched which event of a device.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// What a profile says of the connections between its records: numbers that two of them share.
struct ProfileLinks {
    std::vector<std::pair<std::int64_t, std::uint32_t>> launches;  ///< correlation and index of a launch
    std::vector<std::pair<std::int64_t, std::uint32_t>> calls;     ///< external id and index of a call
    std::vector<std::int64_t> event_correlations;                  ///< of each event; no_link: none
    std::vector<std::int64_t> event_externals;                     ///< likewise
};
inline constexpr std::int64_t no_link = -1;

/// Gives events their launches and calls. The call is the innermost one of the launch's thread that was running when
/// the launch began; without a launch, or where no call was running, the one with the same external id, unless that is
/// only a copy of the correlation. Events that begin before they are launched are noted. Returns how many kernels have
/// no launch.
std::size_t join_calls(RecordedProfile& profile, ProfileLinks& links);

}  // namespace roofline::core
