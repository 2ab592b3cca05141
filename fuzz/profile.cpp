// Fuzzer for what profilers write: traces, databases, protos and tables. What can be read has an answer in every
// format, its step adds up, and its operations can be compared and fitted to.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "import/profile/read_profile.hpp"
#include "machine/catalogue.hpp"
#include "predict/compare/trace.hpp"
#include "predict/profile/profile_answer.hpp"
#include "predict/profile/profile_measurements.hpp"
#include "report/trace/profile_timeline.hpp"
#include "report/trace/profile_view.hpp"
#include "report/trace/trace_view.hpp"
#include "require.hpp"

using namespace roofline::core;

namespace {

const Machine& machine() {
    static const Machine found = find_machine("h100-sxm", {}).value();
    return found;
}

void fuzz_table(std::string_view text) {
    const auto view = compare_profile(text, "fuzz", machine());
    if (!view) {
        require(!view.error().message.empty());
        return;
    }
    for (const TracedKernel& kernel : view->kernels) require(kernel.measured_s > 0 && std::isfinite(kernel.measured_s));
    for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown}) {
        require(!trace_view(*view, format).empty());
    }
    require(!trace_plot(*view).empty());
}

void fuzz_timeline(RecordedProfile profile) {
    const SystemOverride on{machine(), ""};
    auto validation = compare_recorded(profile, on, std::make_shared<Calibrations>(std::vector<Calibration>{}));
    require(validation.has_value());
    complete(*validation);
    TableSamples samples;
    Reasons skipped;
    require(collect_recorded(profile, on, samples, skipped).has_value());
    for (const Comparison& row : validation->rows) require(row.measured_s > 0 && row.prediction.lower_s >= 0);
    std::vector<RecordedProfile> profiles;
    profiles.push_back(std::move(profile));
    const auto answer = answer_profiles(profiles, {{machine(), ""}, ""}, Calibrations(std::vector<Calibration>{}));
    require(answer.has_value());
    const AverageStep& step = answer->step;
    const double parts = step.kernels + step.exposed + step.copies + step.host + step.queued + step.idle;
    require(std::abs(parts - step.total) <= 1e-9 * std::abs(step.total) + 1e-12);
    for (const Format format : {Format::text, Format::json, Format::csv}) {
        require(!profile_view(*answer, format, false).empty());
    }
    require(!profile_timeline(*answer).empty());
    require(!profile_trace(*answer).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    constexpr std::size_t beginning = 4096;
    if (!is_recorded_profile(text.substr(0, beginning))) {
        fuzz_table(text);
        return 0;
    }
    TextSource source(text);
    auto profile = read_profile(text.substr(0, beginning), source, "fuzz");
    if (!profile) {
        require(!profile.error().message.empty());
        return 0;
    }
    fuzz_timeline(std::move(*profile));
    return 0;
}
