// Fuzzer for traces of profilers: what can be read has an answer in every format, its step adds up, and its operations
// can be compared and fitted to.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "import/profile/chrome_trace.hpp"
#include "machine/catalogue.hpp"
#include "predict/profile/profile_answer.hpp"
#include "predict/profile/profile_measurements.hpp"
#include "report/trace/profile_timeline.hpp"
#include "report/trace/profile_view.hpp"
#include "require.hpp"

using namespace roofline::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    TextSource source(std::string_view(reinterpret_cast<const char*>(data), size));
    auto profile = read_chrome_trace(source, "fuzz");
    if (!profile) {
        require(!profile.error().message.empty());
        return 0;
    }
    static const Machine machine = find_machine("h100-sxm", {}).value();
    const SystemOverride on{machine, ""};
    auto validation = compare_recorded(*profile, on, std::make_shared<Calibrations>(std::vector<Calibration>{}));
    require(validation.has_value());
    complete(*validation);
    TableSamples samples;
    Reasons skipped;
    require(collect_recorded(*profile, on, samples, skipped).has_value());
    for (const Comparison& row : validation->rows) require(row.measured_s > 0 && row.prediction.lower_s >= 0);
    std::vector<RecordedProfile> profiles;
    profiles.push_back(std::move(*profile));
    const auto answer = answer_profiles(profiles, {{machine, ""}, ""}, Calibrations(std::vector<Calibration>{}));
    require(answer.has_value());
    const AverageStep& step = answer->step;
    const double parts = step.kernels + step.exposed + step.copies + step.host + step.queued + step.idle;
    require(std::abs(parts - step.total) <= 1e-9 * std::abs(step.total) + 1e-12);
    for (const Format format : {Format::text, Format::json, Format::csv}) {
        require(!profile_view(*answer, format, false).empty());
    }
    require(!profile_timeline(*answer).empty());
    require(!profile_trace(*answer).empty());
    return 0;
}
