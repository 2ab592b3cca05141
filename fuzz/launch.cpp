// Fuzzer for the launches of frameworks, in every form: what can be read is a plan for the chips that there are, and
// the launch that is written of it is read as the same plan, unless a remark says what it does not express.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "import/launch/serving_launch.hpp"
#include "import/launch/training_launch.hpp"
#include "require.hpp"

using namespace roofline::core;

namespace {

bool tells_more(const EmittedLaunch& emitted) {
    return std::any_of(emitted.remarks.begin(), emitted.remarks.end(), [](const std::string& remark) {
        return remark.find("not expressed") != std::string::npos || remark.find("start ") == 0;
    });
}

void check_training(const LaunchValues& values, const LaunchJob& job) {
    const auto launch = training_launch(values, job);
    if (!launch) {
        require(!launch.error().message.empty());
        return;
    }
    require(launch->plan.chips() == job.chips);
    const EmittedLaunch emitted = emit_training(values.table(), *launch, job);
    if (tells_more(emitted)) return;
    const auto again = LaunchValues::read(emitted.text, "emitted", values.table());
    require(again.has_value());
    const auto back = training_launch(*again, job);
    require(back && back->plan.same_axes(launch->plan));
    if (launch->sequences) require(back->sequences == launch->sequences);
}

void check_serving(const LaunchValues& values, bool experts) {
    constexpr std::int64_t chips = 8;
    const auto launch = serving_launch(values, chips, experts);
    if (!launch) {
        require(!launch.error().message.empty());
        return;
    }
    require(launch->plan.chips() == chips);
    const EmittedLaunch emitted = emit_serving(values.table(), *launch, experts);
    if (tells_more(emitted)) return;
    const auto again = LaunchValues::read(emitted.text, "emitted", values.table());
    require(again.has_value());
    const auto back = serving_launch(*again, chips, experts);
    require(back && back->plan.same_axes(launch->plan));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto tables = launch_tables();
    require(tables.has_value());
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const LaunchTable& table : *tables) {
        const auto values = LaunchValues::read(text, "fuzz", table);
        if (!values) {
            require(!values.error().message.empty());
            continue;
        }
        for (const bool experts : {false, true}) {
            if (table.trains) {
                check_training(*values, {64, 48, experts, 2});
            } else {
                check_serving(*values, experts);
            }
        }
    }
    return 0;
}
