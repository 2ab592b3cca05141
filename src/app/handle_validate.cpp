#include <utility>

#include "app/calibration_option.hpp"
#include "app/collective_input.hpp"
#include "app/request.hpp"
#include "app/system_option.hpp"
#include "predict/compare/validation.hpp"
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

Result<ValidateQuestion> validate_question(const ValidateRequest& request) {
    ROOFLINE_TRY(auto on, measured_on(request.machines, request.sets));
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.calibration, request.machines));
    ROOFLINE_TRY(auto hints, nccl_hints(request.collective, request.machines));
    return ValidateQuestion{request.table, request.table_name, std::move(on),    std::move(calibrations),
                            hints,         request.strict,     request.max_error};
}

}  // namespace

Result<Response> handle(const ValidateRequest& request, Format format) {
    ROOFLINE_TRY(const auto question, validate_question(request));
    ROOFLINE_TRY(const auto validation, validate(question));
    Response response;
    response.exit_code = validation.failed() ? 1 : 0;
    response.out = printed(validation, format);
    if (request.plot == ValidationPlot::scatter) response.svg = validation_plot(validation);
    if (request.plot == ValidationPlot::frontier) {
        ROOFLINE_TRY(response.svg, frontier_plot(validation));
    }
    return response;
}

}  // namespace roofline::core
