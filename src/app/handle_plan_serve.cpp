// Answers `roofline plan serve`.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "app/emit_option.hpp"
#include "app/request.hpp"
#include "app/serving_plan_answer.hpp"
#include "app/serving_plan_question.hpp"
#include "app/swept_figures.hpp"
#include "report/serve_plan/serving_plan_report.hpp"

namespace roofline::core {

Result<Response> handle(const ServePlanRequest& request, Format format) {
    ROOFLINE_CHECK(check_emit(request.serve.emit, false, request.serve.machines.size(), format, request.serve.plot));
    if (!request.serve.sweeps.empty()) return swept_response(request, format);
    ROOFLINE_TRY(const auto jobs, serving_plan_jobs(request));
    std::vector<ServingPlanReport> reports;
    Response response;
    for (const ServePlanRequest& job : jobs) {
        auto report = serving_plan_answer(job);
        if (report) {
            reports.push_back(std::move(*report));
            continue;
        }
        Error error = report.error();
        if (jobs.size() == 1) return fail(std::move(error));
        error.message = fmt::format("{}: {}", job.serve.machines.front().name, error.message);
        response.beside.push_back(std::move(error));
    }
    if (reports.empty()) return fail(response.beside.front());
    bool met = false;
    for (const ServingPlanReport& each : reports) met = met || each.answer.meets;
    response.exit_code = met ? 0 : 1;
    const auto& emitted = reports.front().emitted;
    response.out =
        emitted && format == Format::text ? emitted->text : serving_plan_text(reports, response.beside, format);
    if (request.serve.page) response.page = serving_plan_page(reports);
    if (request.serve.plot) response.svg = serving_plan_picture(reports);
    return response;
}

}  // namespace roofline::core
