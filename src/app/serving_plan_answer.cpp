#include "app/serving_plan_answer.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "app/calibration_option.hpp"
#include "app/plan_command.hpp"
#include "app/serve_launch.hpp"
#include "app/serve_question.hpp"
#include "app/serving_plan_question.hpp"
#include "app/stopwatch.hpp"
#include "calibrate/pass/pass_model.hpp"
#include "model/file_types.hpp"
#include "report/serve_plan/serving_plan_words.hpp"

namespace roofline::core {

Result<ServingPlanReport> serving_plan_answer(const ServePlanRequest& job, bool elasticities) {
    const Stopwatch watch(job.search.clock);
    ServingPlanReport report;
    ROOFLINE_TRY(report.search, serving_plan_question(job));
    report.search.elasticities = elasticities;
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

bool leaves_open(const ServeRequest& request) {
    const bool sized = !request.batch.empty() || !request.concurrency.empty() || !request.rate.empty();
    const bool pools = request.disaggregated || request.prefill || request.overlap_transfer ||
                       !request.prefill_mesh.empty() || !request.prefill_workers.empty() ||
                       !request.decode_workers.empty();
    // drafts are checked for one number of sequences
    const bool drafts = !request.draft.empty() || !request.acceptance.empty() || request.draft_model;
    // whole passes were timed with one sequence
    const bool whole = request.config.name.ends_with(".gguf") || is_file_type(request.weights) ||
                       built_in_passes().known(request.software);
    return request.mesh.empty() && !sized && !pools && !drafts && !whole && !request.plan_from;
}

Result<ServeAnswer> best_serve_answer(const ServeRequest& request, bool frontier) {
    if (!leaves_open(request)) return serve_answer_of(request, frontier);
    ServePlanRequest job;
    job.serve = request;
    const auto found = serving_plan_answer(job, false);
    // a slice that holds no set-up is answered with one that would
    if (!found) return serve_answer_of(request, frontier);
    const ServingSearchAnswer& best = found->answer;
    ROOFLINE_TRY(auto answer, serve_answer_of(with_best(job, found->search, best), frontier));
    answer.plan_chosen = true;
    answer.searched = SearchedServing{
        found->name,   found->search.job.slice.chips(), set_up_text(best.best.set_up), best.replicas, best.meets,
        found->command};
    return answer;
}

}  // namespace roofline::core
