#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/planned_step.hpp"
#include "app/profile_option.hpp"
#include "app/request.hpp"
#include "app/system_option.hpp"
#include "import/profile/read_profile.hpp"
#include "predict/compare/trace.hpp"
#include "predict/profile/profile_answer.hpp"
#include "report/trace/profile_timeline.hpp"
#include "report/trace/profile_view.hpp"
#include "report/trace/trace_view.hpp"

namespace roofline::core {

namespace {

/// Whether a file is a module: HLO text, StableHLO text or ONNX.
bool is_module(std::string_view start) {
    constexpr std::string_view marks[] = {"HloModule", "module @", "module {", "func.func", "stablehlo."};
    return start.starts_with('\x08') || std::any_of(std::begin(marks), std::end(marks), [&](std::string_view mark) {
               return start.find(mark) != std::string_view::npos;
           });
}

/// The kernels of a table, without a time line.
Result<Response> compare_table(const std::string& name, ByteSource& file, const TraceRequest& request, Format format) {
    if (!request.software.empty() || !request.calibration.files.empty() || request.calibration.none) {
        return fail("bad_request", "a table of counted kernels has bounds and no expected times",
                    "leave --software and --calibration out");
    }
    if (request.model) {
        return fail("bad_request", "a table of counted kernels has no step to compare with that of --model",
                    "give a trace of torch.profiler or jax.profiler");
    }
    if (names_slice(request.machines.front())) {
        return fail("bad_request", "a kernel profile is of one chip, but a slice is given",
                    "remove the part after the colon");
    }
    if (request.plot == PlotKind::timeline || !request.perfetto.empty()) {
        return fail("bad_request", "a table of kernels has no time line", "leave --perfetto and --plot timeline out");
    }
    ROOFLINE_TRY(const std::string text, read_table(file, name));
    ROOFLINE_TRY(auto machine, resolve_machine(request.machines.front(), request.sets));
    ROOFLINE_TRY(const auto view, compare_profile(text, name, std::move(machine)));
    Response response;
    response.out = trace_view(view, format);
    if (request.page) response.page = trace_page(view);
    if (request.plot == PlotKind::roofline) response.svg = trace_plot(view);
    return response;
}

Result<Response> answer_timelines(std::vector<RecordedProfile> profiles, const TraceRequest& request, Format format,
                                  bool color) {
    ROOFLINE_TRY(auto slice, resolve_slice(request.machines.front(), request.sets));
    ProfileQuestion question;
    if (slice.chips() > 1) question.on.shape = slice.shape_text();
    question.on.machine = std::move(slice.machine);
    question.software = request.software;
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.calibration, request.machines));
    ROOFLINE_TRY(auto answer, answer_profiles(profiles, question, std::move(calibrations)));
    if (request.model) {
        ROOFLINE_TRY(const auto planned, planned_step(request));
        ROOFLINE_TRY(answer.beside, compare_step(answer.rows, planned, answer.name));
    }
    Response response;
    response.out = profile_view(answer, format, color);
    if (request.page) response.page = profile_page(answer);
    if (request.plot == PlotKind::roofline) response.svg = profile_plot(answer);
    if (request.plot == PlotKind::timeline) response.svg = profile_timeline(answer);
    if (!request.perfetto.empty()) response.files.push_back({request.perfetto, profile_trace(answer)});
    return response;
}

}  // namespace

Result<Response> handle(const TraceRequest& request, Format format, bool color) {
    if (request.machines.size() != 1) {
        return fail(request.machines.empty() ? "no_machine" : "bad_request",
                    request.machines.empty() ? "no machine is given"
                                             : "a profile was recorded on one machine, but several are given",
                    "for example --on h100-sxm");
    }
    if (!request.model && has_plan(request)) {
        return fail("bad_request", "--mesh, the batch size and other options of a plan need a model",
                    "name it: --model config.json");
    }
    std::vector<RecordedProfile> profiles;
    for (const NamedFile& file : request.profiles) {
        ROOFLINE_TRY(const auto opened, open_profile(file));
        ResumedSource whole(opened.beginning, *opened.unpacked);
        if (!is_recorded_profile(opened.beginning)) {
            if (is_module(opened.beginning)) {
                return fail("bad_request", file.name + " is a module, and no profile", "roofline hlo reads modules");
            }
            if (request.profiles.size() > 1) {
                return fail("bad_request", file.name + " is a table of kernels, which is compared alone",
                            "give it alone; several files are the traces of several ranks");
            }
            return compare_table(file.name, whole, request, format);
        }
        ROOFLINE_TRY(auto profile, read_profile(opened.beginning, whole, file_name(file.name)));
        profiles.push_back(std::move(profile));
    }
    return answer_timelines(std::move(profiles), request, format, color);
}

}  // namespace roofline::core
