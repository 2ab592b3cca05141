#include "plan/stage_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace roofline {

Result<StageSchedule> stage_schedule(std::string_view name, std::int64_t stages, std::int64_t microbatches) {
    const auto all = static_cast<double>(microbatches);
    const auto p = static_cast<double>(stages);
    const double others = p - 1;
    if (name.empty() || name == "1f1b") return StageSchedule{others, std::min(p, all)};
    if (name == "gpipe") return StageSchedule{others, all};
    if (name == "interleaved") return StageSchedule{others / 2, std::min(p + others / 2, all)};
    if (name == "zero-bubble") return StageSchedule{others / 3, std::min(p, all)};
    const std::string word(name.substr(0, 40));
    return fail("unknown_schedule", fmt::format("--schedule: none is called `{}`", word),
                did_you_mean(word, {"1f1b", "gpipe", "interleaved", "zero-bubble"},
                             "there are 1f1b, gpipe, interleaved, zero-bubble"));
}

}  // namespace roofline
