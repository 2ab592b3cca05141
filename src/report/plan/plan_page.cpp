#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>
#include <vector>

#include "report/model/model_words.hpp"
#include "report/page/page_writer.hpp"
#include "report/plan/plan_report.hpp"
#include "report/plan/plan_words.hpp"
#include "report/train/train_page.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// "llama-3.1-8b with 8.03 G parameters, 1.05 M tokens per step in sequences of 8192,"
std::string job_text(const PlanJobsAnswer& answer) {
    const PlanJobAnswer& job = answer.jobs[answer.chosen];
    const TrainAnswer& best = answer.plan.best;
    return fmt::format("{} with {} parameters, {} tokens per step in sequences of {},", best.model.name,
                       short_count(best.counts.total.params), short_count(Rational(job.batch_tokens)), job.sequence);
}

std::string slices_text(const PlanJobsAnswer& answer) {
    std::set<std::string> slices;
    for (const PlanJobAnswer& job : answer.jobs) slices.insert(job.slice);
    return slices.size() == 1 ? *slices.begin() : fmt::format("one of {} slices", slices.size());
}

// The answer in two or three sentences.
std::string verdict(const PlanJobsAnswer& answer) {
    const TrainAnswer& best = answer.plan.best;
    std::string text = answer.within()    ? "The best plan is "
                       : answer.plan.fits ? "The nearest plan is "
                                          : "Nothing fits; the plan that needs the least memory is ";
    text += fmt::format("{} on {}", whole_text(best), slice_id(best.slice));
    if (!answer.plan.fits) return text + ".";
    text += fmt::format(": {}{} a step", at_least(best), to_text(Seconds{step_seconds(best)}));
    if (best.step->times.expected_error) {
        text += fmt::format(" (expected; mean error {} %)", percent_text(*best.step->times.expected_error));
    }
    const PlanValues values = values_of(best, answer.basis);
    std::vector<std::string> costs;
    if (answer.basis != PlanBasis::step) {
        costs.push_back(value_text(PlanObjective::time, answer.basis, values.seconds));
    }
    if (values.usd) costs.push_back(value_text(PlanObjective::cost, answer.basis, *values.usd));
    const std::string_view basis = answer.basis == PlanBasis::run ? "for the run" : basis_text(answer.basis);
    if (!costs.empty()) text += fmt::format(", {}{} {}", at_least(best), fmt::join(costs, " and "), basis);
    text += fmt::format(". It ranks first among {} plans by {}.", grouped(answer.counts.looked_at),
                        objective_text(answer.objective, answer.basis));
    if (answer.plan.plans.size() > 1) {
        const PlanBeside& second = answer.plan.plans[1];
        text += fmt::format(" The next one with other degrees, {}, takes {} ({}", plan_text(second.answer.plan),
                            to_text(Seconds{step_seconds(second.answer)}),
                            beside_text(step_seconds(second.answer) / step_seconds(best)));
        text += second.sure ? fmt::format("; the order is right in {} of measured pairs).", share_text(*second.sure))
                            : ").";
    }
    return text;
}

}  // namespace

ReportPage plan_page(const PlanJobsAnswer& answer) {
    PageWriter page;
    page.section(PagePlace::answer, "The best plan");
    page.say(verdict(answer));
    page.add(plan_sections(answer));
    add_training(page, answer.plan.best);
    page.title(fmt::format("The best plan to train {} on {}", answer.plan.best.model.name, slices_text(answer)));
    page.question(
        fmt::format("Which plan trains {} on {} with the least {}, what does it cost, and what would beat it?",
                    job_text(answer), slices_text(answer), objective_text(answer.objective, answer.basis)));
    return page.take();
}

}  // namespace roofline::core
