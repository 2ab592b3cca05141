// Answers `roofline plan serve`.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "app/calibration_option.hpp"
#include "app/emit_option.hpp"
#include "app/plan_command.hpp"
#include "app/request.hpp"
#include "app/serve_launch.hpp"
#include "app/serving_plan_question.hpp"
#include "app/stopwatch.hpp"
#include "report/serve_plan/serving_plan_report.hpp"

namespace roofline::core {

namespace {

Result<ServingPlanReport> report_of(const ServePlanRequest& job) {
    const Stopwatch watch(job.search.clock);
    ServingPlanReport report;
    ROOFLINE_TRY(report.search, serving_plan_question(job));
    std::vector<MachineRef> machines = job.serve.machines;
    if (job.serve.prefill) machines.push_back(*job.serve.prefill);
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(job.serve.calibration, machines));
    ROOFLINE_TRY(report.answer, search_serving(report.search, std::make_shared<Calibrations>(std::move(calibrations))));
    const MachineRef& machine = job.serve.machines.front();
    report.name = machine.slice.empty() ? machine.name : fmt::format("{}:{}", machine.name, machine.slice);
    const ServeRequest best = with_best(job, report.search, report.answer);
    report.command = serve_command(best);
    if (!best.emit.empty()) {
        ROOFLINE_TRY(report.emitted, emitted_serving(best, report.answer.served, report.answer.replicas));
        if (!report.answer.meets) {
            const std::string remark = "no set-up meets the targets; this one comes nearest";
            report.emitted->remarks.push_back(remark);
            report.emitted->text = launch_comment(remark) + report.emitted->text;
        }
    }
    report.search_s = watch.seconds();
    return report;
}

}  // namespace

Result<Response> handle(const ServePlanRequest& request, Format format) {
    ROOFLINE_CHECK(check_emit(request.serve.emit, false, request.serve.machines.size(), format, request.serve.plot));
    ROOFLINE_TRY(const auto jobs, serving_plan_jobs(request));
    std::vector<ServingPlanReport> reports;
    Response response;
    for (const ServePlanRequest& job : jobs) {
        auto report = report_of(job);
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
    if (request.serve.plot) response.svg = serving_plan_picture(reports);
    return response;
}

}  // namespace roofline::core
