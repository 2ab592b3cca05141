#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "app/emit_option.hpp"
#include "app/plan_command.hpp"
#include "app/plan_part.hpp"
#include "app/plan_question.hpp"
#include "app/request.hpp"
#include "app/stopwatch.hpp"
#include "app/swept_figures.hpp"
#include "app/train_launch.hpp"
#include "app/training_answer.hpp"
#include "report/figure.hpp"
#include "report/plan/plan_picture.hpp"
#include "report/plan/plan_report.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

Status check_plan_request(const PlanRequest& request, Format format) {
    ROOFLINE_CHECK(check_emit(request.train.emit, true, 1, format, request.plot || !request.part.empty()));
    if (request.page && !request.part.empty()) {
        return fail("usage", "a part of a search has no report", "give --html to `roofline plan --merge`");
    }
    if (!request.output.empty() && request.part.empty()) {
        return fail("usage", "-o names the file of a part, and --part is not given",
                    "for example --part 1/8 -o 1.json");
    }
    if (!request.leading.name.empty() && (request.part.empty() || request.part == "leading")) {
        return fail("usage", "--leading gives the file of the leading part, and --part names no part of the rest",
                    "for example --part 1/8 --leading leading.json");
    }
    if (request.part.empty() || format == Format::text || format == Format::json) return {};
    return fail("usage", "a part of a search is written as JSON", "give the format to `roofline plan --merge`");
}

Response plan_response(const PlanJobsAnswer& answer, std::optional<double> took, bool plot, bool page, Format format) {
    Response response;
    if (page) response.page = plan_page(answer);
    response.exit_code = answer.stopped ? interrupted_exit : answer.within() ? 0 : 1;
    response.out = format == Format::json       ? plan_json(answer, took)
                   : answer.plan.best.emitted   ? answer.plan.best.emitted->text
                   : format == Format::csv      ? table_csv(plan_table(answer))
                   : format == Format::markdown ? table_markdown(plan_table(answer))
                                                : plan_text(answer);
    if (plot) response.svg = front_picture(answer);
    return response;
}

// The file of a part is JSON, for `plan --merge`.
Result<Response> part_response(const SearchedPart& searched, const std::string& output, Format format) {
    const PlanPart& part = searched.part;
    const PlanCounts& counts = searched.found.counts;
    if (searched.found.stopped) {
        return fail("interrupted", fmt::format("interrupted; {} is not written", part_text(part)),
                    "search it again; the other parts need not be");
    }
    Response response;
    std::string json = part_json(searched);
    if (output.empty()) {
        response.out = std::move(json);
        return response;
    }
    response.files.push_back({output, std::move(json)});
    if (format == Format::json) {
        response.out = dumped({{"schema", 1},
                               {"part", {{"number", part.number}, {"of", part.of}}},
                               {"searched", counts.looked_at},
                               {"priced", counts.priced},
                               {"file", output}}) +
                       "\n";
        return response;
    }
    response.out = fmt::format("{}: {} plans were looked at, {} priced; written to {}\n", part_text(part),
                               grouped(counts.looked_at), grouped(counts.priced), output);
    return response;
}

// Adds the command of the first plan.
Status add_command(const PlanRequest& request, PlanJobsAnswer& answer) {
    ROOFLINE_TRY(const auto jobs, plan_jobs_of(request));
    answer.command = plan_command(jobs[answer.chosen].train, answer.plan.best);
    return {};
}

}  // namespace

Result<SearchedPart> search_part(const PlanRequest& request) {
    const Stopwatch watch(request.train.search.clock);
    ROOFLINE_TRY(auto question, part_question(request));
    if (!request.leading.name.empty()) {
        ROOFLINE_TRY(auto leading, leading_part(request));
        question.search.part.apart = true;
        question.search.leading = std::move(leading.found.leading);
    }
    ROOFLINE_TRY(const auto calibrations, plan_calibrations(request));
    ROOFLINE_TRY(auto found, find_plans(question, calibrations));
    return SearchedPart{request, question.search.part, std::move(found), watch.seconds()};
}

Result<Response> answer_parts(const SearchedPart& whole, const PlanMergeRequest& request, Format format) {
    const Stopwatch watch(request.clock);
    PlanJobsQuestion question;
    ROOFLINE_TRY(question.jobs.emplace_back(), part_question(whole.request));
    question.found = whole.found;
    ROOFLINE_TRY(const auto calibrations, plan_calibrations(whole.request));
    ROOFLINE_TRY(auto answer, predict_plan_jobs(std::move(question), calibrations));
    ROOFLINE_CHECK(add_command(whole.request, answer));
    const auto took = whole.search_s ? std::optional(*whole.search_s + watch.seconds().value_or(0)) : std::nullopt;
    return plan_response(answer, took, false, request.page, format);
}

Result<Response> handle(const PlanRequest& request, Format format) {
    if (!request.train.sweeps.empty()) return swept_response(request, format);
    ROOFLINE_CHECK(check_plan_request(request, format));
    if (!request.part.empty()) {
        ROOFLINE_TRY(const auto searched, search_part(request));
        return part_response(searched, request.output, format);
    }
    const Stopwatch watch(request.train.search.clock);
    ROOFLINE_TRY(auto answer, plan_answer_of(request));
    ROOFLINE_CHECK(add_command(request, answer));
    if (!request.train.emit.empty()) {
        ROOFLINE_TRY(answer.plan.best.emitted, emitted_training(request.train.emit, answer.plan.best));
    }
    return plan_response(answer, watch.seconds(), request.plot, request.page, format);
}

Result<Response> handle(const PlanMergeRequest& request, Format format) {
    ROOFLINE_TRY(const auto whole, merge_files(request.parts));
    return answer_parts(whole, request, format);
}

}  // namespace roofline::core
