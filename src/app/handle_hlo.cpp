#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/number_option.hpp"
#include "app/profile_option.hpp"
#include "app/request.hpp"
#include "app/system_option.hpp"
#include "app/user_program.hpp"
#include "base/ascii.hpp"
#include "import/xla/read_xla_module.hpp"
#include "predict/imported/module_answer.hpp"
#include "predict/imported/module_program.hpp"
#include "predict/profile/module_profile.hpp"
#include "report/hlo/hlo_view.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

Result<ModuleCounting> counting_of(const std::string& word) {
    if (word.empty() || word == "ours") return ModuleCounting::ours;
    if (word == "xla") return ModuleCounting::xla;
    if (word == "xla-gpu") return ModuleCounting::xla_gpu;
    return fail("bad_request", fmt::format("--cost {} is no way to count", in_ticks(word)),
                "ours, or as XLA's own analyses count: xla, xla-gpu");
}

// `while.3=8`, several with commas.
Status read_loops(const std::string& text, ModuleQuestion& question) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view item = rest.substr(0, comma);
        const std::size_t equals = item.rfind('=');
        std::int64_t count = 0;
        const std::string_view number = equals == std::string_view::npos ? "" : item.substr(equals + 1);
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
        if (error != std::errc{} || end != number.data() + number.size() || count < 0 || equals == 0) {
            return fail("bad_request", fmt::format("--loops {} is no trip count", in_ticks(item)),
                        "name a loop and how often it runs: --loops while.3=8");
        }
        question.loops[std::string(item.substr(0, equals))] = count;
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return {};
}

// `batch=32,seq=1k`.
Status read_dims(const std::string& text, DimSizes& sizes) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view item = trimmed(rest.substr(0, comma));
        const std::size_t equals = item.rfind('=');
        if (equals == std::string_view::npos || equals == 0) {
            return fail("bad_request", fmt::format("--dims {} is no size of a dimension", in_ticks(item)),
                        "name a dimension and its size: --dims batch=32");
        }
        auto size = parse_size(trimmed(item.substr(equals + 1)));
        if (!size) return fail(of_option("--dims", std::move(size).error()));
        if (!sizes.emplace(trimmed(item.substr(0, equals)), *size).second) {
            return fail("size_conflict", fmt::format("--dims: {} is given twice", in_ticks(item.substr(0, equals))),
                        "give it once");
        }
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return {};
}

// Only the program: no machine is needed, and nothing is priced.
Result<Response> program_response(const HloRequest& request, const ModuleQuestion& question, const DimSizes& dims,
                                  Format format) {
    const std::pair<bool, std::string_view> of_answers[] = {{question.counting != ModuleCounting::ours, "--cost"},
                                                            {!request.machines.empty(), "--on"},
                                                            {!request.sets.empty(), "--set"},
                                                            {!request.software.empty(), "--software"},
                                                            {!request.mesh.empty(), "--mesh"},
                                                            {!request.calibration.files.empty(), "--calibration"},
                                                            {request.plot, "a plot"},
                                                            {request.page, "--html"},
                                                            {format != Format::text, "a format"}};
    for (const auto& [given, option] : of_answers) {
        if (!given) continue;
        return fail("bad_request", fmt::format("--program prints only the program, and {} changes nothing", option),
                    "leave it out; roofline op prices the program");
    }
    ROOFLINE_TRY(const XlaModule module, read_xla_module(request.module.text, request.module.name, dims));
    Response response;
    ROOFLINE_TRY(response.out, module_program_text(module, request.module.name, question));
    return response;
}

}  // namespace

Result<Response> handle(const HloRequest& request, Format format, bool color) {
    ModuleQuestion question;
    ROOFLINE_TRY(question.counting, counting_of(request.cost));
    question.software = request.software;
    question.count_multiple_input_accesses = request.count_multiple_input_accesses;
    for (const std::string& text : request.loops) ROOFLINE_CHECK(read_loops(text, question));
    ROOFLINE_TRY(question.mesh, named_mesh(request.mesh));
    const bool ours = question.counting == ModuleCounting::ours;
    if (request.count_multiple_input_accesses && ours) {
        return fail("bad_request", "--count-multiple-input-accesses is an option of XLA's analyses",
                    "add --cost xla or --cost xla-gpu");
    }
    const std::pair<bool, std::string_view> of_ours[] = {{!request.loops.empty(), "--loops"},
                                                         {!request.sets.empty(), "--set"},
                                                         {!request.mesh.empty(), "--mesh"},
                                                         {!request.software.empty(), "--software"},
                                                         {!request.calibration.files.empty(), "--calibration"}};
    for (const auto& [given, option] : of_ours) {
        if (!given || ours) continue;
        return fail(
            "bad_request",
            fmt::format("XLA's analyses count one iteration of each loop and no times: {} changes nothing", option),
            "leave it out, or leave --cost out");
    }
    DimSizes dims;
    for (const std::string& text : request.dims) ROOFLINE_CHECK(read_dims(text, dims));
    if (request.program) return program_response(request, question, dims, format);
    if (ours && request.machines.empty()) {
        return fail("no_machine", "no machine is given", "for example --on h100-sxm:8, or only counts: --cost xla");
    }
    if (request.plot && (!ours || request.machines.size() > 1)) {
        return fail("bad_request", "the plot shows times on one machine", "give one machine, without --cost");
    }
    if (request.profile && (!ours || request.machines.size() != 1)) {
        return fail("bad_request", "a profile is compared with the times on the machine that it was recorded on",
                    "give one machine, without --cost");
    }
    ROOFLINE_TRY(const XlaModule module, read_xla_module(request.module.text, request.module.name, dims));
    std::vector<ModuleAnswer> answers;
    if (!ours) {
        ROOFLINE_TRY(auto answer, answer_module(module, request.module.name, std::nullopt, question, nullptr));
        answers.push_back(std::move(answer));
    }
    for (const MachineRef& reference : request.machines) {
        ROOFLINE_TRY(auto slice, resolve_slice(reference, request.sets));
        if (!ours) continue;  // counts are the same on every machine
        ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.calibration, {reference}));
        ROOFLINE_TRY(auto answer, answer_module(module, request.module.name, std::move(slice), question,
                                                std::make_shared<Calibrations>(std::move(calibrations))));
        answers.push_back(std::move(answer));
    }
    if (request.profile) {
        ROOFLINE_TRY(const auto profile, read_named_profile(*request.profile));
        ROOFLINE_CHECK(join_profile(profile, module.name, answers.front()));
    }
    Response response;
    if (request.plot) response.svg = hlo_plot(answers.front());
    if (request.page) response.page = hlo_page(answers);
    response.out = hlo_view(answers, format, color);
    return response;
}

}  // namespace roofline::core
