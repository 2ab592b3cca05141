#include <fmt/format.h>

#include <utility>

#include "app/collective_input.hpp"
#include "app/profile_option.hpp"
#include "app/request.hpp"
#include "app/system_option.hpp"
#include "predict/compare/fit_tables.hpp"
#include "predict/profile/profile_measurements.hpp"
#include "report/fit/fit_report.hpp"
#include "report/fit/pass_fit.hpp"
#include "report/fit/server_fit.hpp"

namespace roofline::core {

namespace {

Result<FitQuestion> fit_question(const FitRequest& request) {
    FitQuestion question;
    ROOFLINE_TRY(question.on, measured_on(request.machines, request.sets));
    ROOFLINE_TRY(question.hints, nccl_hints(request.collective, request.machines));
    for (const NamedText& file : request.tables) question.tables.push_back({file.name, file.text});
    question.strict = request.strict;
    question.date = request.date;
    for (const NamedFile& file : request.files) {
        ROOFLINE_TRY(auto measured, read_measured(file));
        if (!measured.profile) {
            question.tables.push_back({file.name, std::move(measured.text)});
            continue;
        }
        ROOFLINE_TRY(const auto on, recorded_on(request.machines, request.sets));
        ROOFLINE_CHECK(collect_recorded(*measured.profile, on, question.recorded, question.recorded_skipped));
    }
    if (question.tables.empty() && (request.strict || !request.collective.empty())) {
        return fail("bad_request", "--strict and --collective are for tables, and only recorded profiles are given",
                    "leave them out");
    }
    return question;
}

/// Returns one file per machine, or the single file that --output names.
Result<std::vector<NamedText>> files_of(const std::vector<Calibration>& calibrations, const std::string& output) {
    std::vector<NamedText> files;
    if (output.empty() || calibrations.empty()) return files;
    const bool one = output.ends_with(".toml");
    if (one && calibrations.size() != 1) {
        return fail("bad_request",
                    fmt::format("models for {} machines cannot be written to one file", calibrations.size()),
                    "name a directory: -o calibration");
    }
    for (const Calibration& calibration : calibrations) {
        std::string name = one ? output : fmt::format("{}/{}.toml", output, calibration.machine);
        files.push_back({std::move(name), calibration_text(calibration)});
    }
    return files;
}

Result<Response> fit_servers(const FitRequest& request, const FitQuestion& question, Format format) {
    if (!request.output.empty() && !request.output.ends_with(".toml")) {
        return fail("bad_request", "all server models are written to one file", "name it: -o servers.toml");
    }
    ROOFLINE_TRY(auto fit, fit_serving_tables(question));
    Response response;
    if (fit.models.servers.empty()) {
        response.exit_code = 1;
    } else if (!request.output.empty()) {
        fit.file = request.output;
        response.files.push_back({request.output, server_models_text(fit.models)});
    }
    response.out = server_fit_report(fit, format);
    return response;
}

Result<Response> fit_passes(const FitRequest& request, const FitQuestion& question, Format format) {
    if (!request.output.empty() && !request.output.ends_with(".toml")) {
        return fail("bad_request", "all forward-pass models are written to one file", "name it: -o passes.toml");
    }
    ROOFLINE_TRY(auto fit, fit_pass_tables(question));
    Response response;
    if (fit.models.families.empty()) {
        response.exit_code = 1;
    } else if (!request.output.empty()) {
        fit.file = request.output;
        response.files.push_back({request.output, pass_models_text(fit.models)});
    }
    response.out = pass_fit_report(fit, format);
    return response;
}

}  // namespace

Result<Response> handle(const FitRequest& request, Format format) {
    ROOFLINE_TRY(const auto question, fit_question(request));
    const bool served = are_serving_tables(question.tables);
    if (served || are_pass_tables(question.tables)) {
        if (!question.recorded.kernels.empty() || !question.recorded.collectives.empty()) {
            return fail("bad_request",
                        fmt::format("tables of {} and recorded profiles are not fitted together",
                                    served ? "served models" : "llama.cpp's benchmark"),
                        "fit them one after another");
        }
        return served ? fit_servers(request, question, format) : fit_passes(request, question, format);
    }
    ROOFLINE_TRY(auto fit, fit_tables(question));
    if (format == Format::csv && fit.kinds > 1) {
        return fail("bad_request",
                    "models of collectives, of exchanges with experts and of kernels do not fit one table of "
                    "comma-separated values",
                    "fit the tables one after another, or use --json");
    }
    Response response;
    ROOFLINE_TRY(response.files, files_of(fit.fit.calibrations, request.output));
    for (const NamedText& file : response.files) fit.files.push_back(file.name);
    if (fit.fit.calibrations.empty()) response.exit_code = 1;
    response.out = fit_report(fit, format);
    return response;
}

}  // namespace roofline::core
