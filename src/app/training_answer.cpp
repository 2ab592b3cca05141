#include "app/training_answer.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/plan_question.hpp"
#include "app/stopwatch.hpp"
#include "app/train_launch.hpp"
#include "app/train_question.hpp"
#include "predict/plan/plan.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using SharedCalibrations = std::shared_ptr<Calibrations>;

Result<TrainAnswer> with_given_plan(const TrainRequest& request, const SharedCalibrations& calibrations) {
    return train_question(request).and_then(
        [&](TrainQuestion question) { return predict_training(std::move(question), calibrations); });
}

// "the fastest of 11,576 plans; the next is fsdp=64, 2.1 % slower"
std::string found_text(const TrainSearch& search, const PlanCounts& counts) {
    std::string text = fmt::format("--mesh is not given: this is the fastest of {} plans", grouped(search.searched));
    if (search.stopped) {
        text +=
            fmt::format(", and {} were not looked at because the search was interrupted", grouped(counts.unsearched));
    }
    if (search.plans.size() > 1) {
        const double slower = step_seconds(search.plans[1]) / step_seconds(search.plans[0]) - 1;
        text += fmt::format("; the best with other degrees is {}, {:.1f} % slower", plan_text(search.plans[1].plan),
                            100 * slower);
    }
    return text + "; `roofline plan train` says why the others lose";
}

// Nothing fits; `why` says what was found instead.
TrainAnswer with_note(TrainAnswer answer, const std::string& why) {
    answer.notes.push_back(why);
    return answer;
}

Result<TrainAnswer> with_best_plan(const TrainRequest& request, const SharedCalibrations& calibrations) {
    const Stopwatch watch(request.search.clock);
    ROOFLINE_TRY(const auto question, plan_question_of_training(request));
    ROOFLINE_TRY(auto found, find_plans(question, calibrations));
    auto laid_out = lay_out_plans(question, std::move(found), calibrations);
    if (!laid_out) {
        if (laid_out.error().code != "no_fit") return fail(laid_out.error());
        ROOFLINE_TRY(auto answer, with_given_plan(request, calibrations));
        return with_note(std::move(answer), laid_out.error().message);
    }
    const PlanCounts counts = laid_out->found.counts;
    TrainSearch search;
    search.plans = of_different_degrees(laid_out->alone, question.shown);
    search.searched = counts.looked_at;
    search.stopped = laid_out->found.stopped;
    if (laid_out->alone.empty()) {
        ROOFLINE_TRY(auto nearest, answer_plans(question, std::move(*laid_out), calibrations));
        search.seconds = watch.seconds();
        nearest.best.search = std::make_shared<const TrainSearch>(std::move(search));
        return with_note(std::move(nearest.best),
                         fmt::format("--mesh is not given: none of {} plans fits, and this one needs the least memory",
                                     grouped(counts.looked_at)));
    }
    search.seconds = watch.seconds();
    TrainAnswer answer = search.plans.front();
    answer.notes.push_back(found_text(search, counts));
    answer.search = std::make_shared<const TrainSearch>(std::move(search));
    return answer;
}

}  // namespace

Result<TrainAnswer> train_answer_of(const TrainRequest& request) {
    if (request.plan_from) {
        std::vector<std::string> notes;
        ROOFLINE_TRY(auto planned, with_training_launch(request, notes));
        planned.plan_from.reset();
        ROOFLINE_TRY(auto answer, train_answer_of(planned));
        answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
        return answer;
    }
    ROOFLINE_CHECK(check_no_servers(request.calibration));
    ROOFLINE_TRY(auto resolved, resolve_calibrations(request.calibration, request.machines));
    const auto calibrations = std::make_shared<Calibrations>(std::move(resolved));
    const bool given = !request.mesh.empty() || request.mfu.has_value();
    ROOFLINE_TRY(auto answer, given ? with_given_plan(request, calibrations) : with_best_plan(request, calibrations));
    if (!request.emit.empty()) {
        ROOFLINE_TRY(answer.emitted, emitted_training(request.emit, answer));
    }
    return answer;
}

}  // namespace roofline::core
