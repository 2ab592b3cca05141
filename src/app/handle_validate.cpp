#include <memory>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/collective_input.hpp"
#include "app/profile_option.hpp"
#include "app/request.hpp"
#include "app/system_option.hpp"
#include "predict/compare/validation.hpp"
#include "predict/profile/profile_measurements.hpp"
#include "report/validate/validation_report.hpp"

namespace roofline::core {

namespace {

std::string printed(const Validation& validation, Format format) {
    switch (format) {
        case Format::json:
            return validation_json(validation);
        case Format::csv:
            return validation_csv(validation);
        case Format::markdown:
            return validation_markdown(validation);
        case Format::text:
            break;
    }
    return validation_text(validation);
}

Result<Validation> validate_table(const ValidateRequest& request, std::string table) {
    ROOFLINE_TRY(auto on, measured_on(request.machines, request.sets));
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.calibration, request.machines));
    ROOFLINE_TRY(auto hints, nccl_hints(request.collective, request.machines));
    return validate(ValidateQuestion{std::move(table), request.file ? request.file->name : request.table_name,
                                     std::move(on), std::move(calibrations), hints, request.strict, request.max_error});
}

Result<Validation> validate_recorded(const ValidateRequest& request, const RecordedProfile& profile) {
    if (request.strict || !request.collective.empty()) {
        return fail("bad_request", "--strict and --collective are for tables, and this is a recorded profile",
                    "leave them out");
    }
    ROOFLINE_TRY(const auto on, recorded_on(request.machines, request.sets));
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.calibration, request.machines));
    ROOFLINE_TRY(auto validation,
                 compare_recorded(profile, on, std::make_shared<Calibrations>(std::move(calibrations))));
    validation.max_error = request.max_error;
    complete(validation);
    return validation;
}

Result<Validation> validation_of(const ValidateRequest& request) {
    if (!request.file) return validate_table(request, request.table);
    ROOFLINE_TRY(auto measured, read_measured(*request.file));
    if (measured.profile) return validate_recorded(request, *measured.profile);
    return validate_table(request, std::move(measured.text));
}

}  // namespace

Result<Response> handle(const ValidateRequest& request, Format format) {
    ROOFLINE_TRY(const auto validation, validation_of(request));
    Response response;
    response.exit_code = validation.failed() ? 1 : 0;
    response.out = printed(validation, format);
    if (request.page) response.page = validation_page(validation);
    if (request.plot == ValidationPlot::scatter) response.svg = validation_plot(validation);
    if (request.plot == ValidationPlot::frontier) {
        ROOFLINE_TRY(response.svg, frontier_plot(validation));
    }
    return response;
}

}  // namespace roofline::core
