// An answer of `roofline plan train` as text, and as the sections of a page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "network/slice_shapes.hpp"
#include "report/page/page_writer.hpp"
#include "report/plan/plan_picture.hpp"
#include "report/plan/plan_report.hpp"
#include "report/plan/plan_words.hpp"
#include "report/screen_notes.hpp"
#include "report/train/train_text.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string step_text(const TrainAnswer& answer) { return to_text(Seconds{step_seconds(answer)}); }

class PlanText {
public:
    explicit PlanText(const PlanJobsAnswer& whole) : whole_(whole), answer_(whole.plan) {}

    std::string run() {
        out_ = train_text(answer_.best, false);
        if (!out_.ends_with("\n\n")) out_ += "\n";
        limits();
        jobs();
        front();
        if (answer_.fits) {
            plans();
            larger();
            elasticities();
        } else {
            nearest();
        }
        counts();
        for (const auto* notes : {&answer_.best.notes, &answer_.notes, &whole_.notes}) {
            for (const std::string& note : notes_for_screen(*notes)) {
                out_ += "\n  " + wrapped("note: " + note, 2, 8, page_width);
                page_.note(note);
            }
        }
        if (out_.back() != '\n') out_ += "\n";
        command();
        return std::move(out_);
    }

    // What run() wrote of the search, without the plan itself, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    void say(const std::string& text) {
        out_ += "  " + wrapped(text, 2, 4, page_width) + "\n";
        page_.say(text);
    }

    void table(Table table) {
        out_ += table_text(table, 2);
        page_.table(std::move(table));
    }

    // Why the plan above is not within the limits, and what would let it pass.
    void limits() {
        const PlanJobAnswer& job = whole_.jobs[whole_.chosen];
        if (!answer_.fits || job.exceeded.empty()) return;
        page_.section(PagePlace::answer, "Your limits");
        std::vector<std::string> beyond;
        std::vector<std::string> options;
        for (const ExceededLimit& each : job.exceeded) {
            beyond.push_back(exceeded_text(each));
            options.push_back(passing_option(each));
        }
        say(fmt::format("No plan is within your limits. The one above is the nearest: {}. It would pass with {}.",
                        fmt::join(beyond, ", "), fmt::join(options, " ")));
        out_ += "\n";
    }

    void jobs() {
        if (whole_.jobs.size() == 1) return;
        page_.section(PagePlace::choice, "The jobs that were searched");
        say(fmt::format("The best plan of each job by {}; time, cost and energy are {}:",
                        objective_text(whole_.objective, whole_.basis), basis_text(whole_.basis)));
        out_ += "\n";
        table(jobs_table(whole_));
        out_ += "\n";
        const bool bounds = std::any_of(whole_.jobs.begin(), whole_.jobs.end(), [](const PlanJobAnswer& job) {
            return job.best && !at_least(*job.best).empty();
        });
        if (bounds) say(">=: a lower bound, because no calibration covers that machine.\n");
    }

    // Nothing fits: what would let the plan above fit.
    void nearest() {
        page_.section(PagePlace::answer, "Why nothing fits");
        if (answer_.counts.unsearched > 0) {
            say("No plan that was looked at fits: the one above needs the least memory.");
            return;
        }
        const Slice& slice = answer_.best.slice;
        const TrainingMemory& memory = answer_.best.step->memory;
        const auto larger = next_slice(
            slice.machine, static_cast<std::int64_t>(
                               std::ceil(memory.total() * static_cast<double>(slice.chips()) / *memory.capacity)));
        say(
            fmt::format("No plan fits: the one above needs the least memory, {} more than a chip has.{} Moments in "
                        "fewer bits (--optimizer adam,moments=bf16) or shorter sequences need less.",
                        to_text(Bytes{memory.total() - *memory.capacity}),
                        larger ? fmt::format(" The next slice that holds as much in all has {} chips ({}).",
                                             grouped(larger->chips()), larger->shape_text())
                               : ""));
    }

    void command() {
        if (whole_.command.empty()) return;
        out_ += "\n  The plan above alone:\n" + shell_lines(whole_.command, 4, page_width);
        page_.section(PagePlace::basis, "The best plan alone");
        page_.code(shell_lines(whole_.command, 0, page_width));
    }

    void front() {
        if (!whole_.front_of) return;
        page_.section(PagePlace::choice, "The front");
        if (whole_.front.empty()) {
            say("The front is empty because no plan is within your limits.");
        } else {
            say(fmt::format("Plans that no other one beats in both {} and {}:",
                            objective_text(whole_.front_of->first, whole_.basis),
                            objective_text(whole_.front_of->second, whole_.basis)));
            out_ += "\n";
            table(front_table(whole_));
            page_.picture(front_picture(whole_));
        }
        out_ += "\n";
    }

    void plans() {
        page_.section(PagePlace::choice, "Runners-up");
        if (whole_.jobs.size() > 1) say(fmt::format("On {}:", whole_.jobs[whole_.chosen].slice) + "\n");
        const bool expected = answer_.best.step->times.expected.has_value();
        const double best_s = expected ? *answer_.best.step->times.expected : answer_.best.step->times.lower;
        Table rows;
        const bool run = whole_.basis == PlanBasis::run;
        const bool sure = std::any_of(answer_.plans.begin(), answer_.plans.end(),
                                      [](const PlanBeside& each) { return each.sure.has_value(); });
        // Long plans stand last, so that the figures stay together.
        rows.head = {expected ? "expected" : "lower", ""};
        if (!expected) rows.head.emplace_back("no overlap");
        if (run) rows.head.emplace_back(answer_.best.goodput ? "calendar" : "run");
        rows.head.emplace_back("memory");
        if (sure) rows.head.emplace_back("certainty");
        rows.right = std::vector<bool>(rows.head.size(), true);
        for (const char* head : {"plan", ""}) {
            rows.head.emplace_back(head);
            rows.right.push_back(false);
        }
        bool ties = false;
        for (const PlanBeside& each : answer_.plans) {
            const TrainAnswer& plan = each.answer;
            ties = ties || (each.sure && *each.sure < near_tie_certainty);
            TableRow row(rows);
            row.number(step_text(plan), step_seconds(plan), "s");
            row.text(rows.rows.size() == 1 ? "best" : beside_text(step_seconds(plan) / best_s));
            if (!expected) row.number(to_text(Seconds{plan.step->times.upper}), plan.step->times.upper, "s");
            if (run) {
                const double seconds = values_of(plan, whole_.basis).seconds;
                row.number(std::string(at_least(plan)) + days_text(seconds), seconds, "s");
            }
            row.number(to_text(Bytes{plan.step->memory.total()}), plan.step->memory.total(), "B");
            if (sure) row.text(each.sure ? share_text(*each.sure) : "");
            row.text(core::plan_text(plan.plan)).text(choice_text(plan));
        }
        table(std::move(rows));
        out_ += "\n";
        if (!sure) return;
        say("certainty: the share of measured pairs of plans whose expected times differ as much, in which the plan "
            "that was expected to be faster was indeed faster.");
        if (ties) {
            say(fmt::format(
                "Plans below a certainty of {} are near-ties: choose among them by memory, by what your framework does "
                "best, or by a measurement.",
                share_text(near_tie_certainty)));
        }
        out_ += "\n";
    }

    void larger() {
        page_.section(PagePlace::changes, "What would change the answer");
        for (const LargerPlan& each : answer_.larger) {
            say(fmt::format("With {} more memory per chip: {}: {:.0f} % less time.", to_text(Bytes{each.bytes}),
                            whole_text(each.answer), 100 * each.gain));
        }
        if (!answer_.larger.empty()) out_ += "\n";
    }

    void elasticities() {
        std::vector<std::string> parts;
        for (const Elasticity& each : answer_.changes.elasticities) {
            if (std::abs(each.value) >= 0.005) parts.push_back(fmt::format("{} {:+.2f}", each.path, each.value));
        }
        if (parts.empty()) return;
        say(fmt::format("Change of the time, in %, per 1 % more of: {}.", fmt::join(parts, ", ")));
        constexpr std::size_t most_flips = 3;
        for (std::size_t i = 0; i < std::min(most_flips, answer_.changes.flips.size()); ++i) {
            const Flip& flip = answer_.changes.flips[i];
            say(fmt::format("With {} {} {} ({:.2f} times the machine's): {} would be faster.", flip.path,
                            flip.factor > 1 ? "above" : "below", flip.at, flip.factor, whole_text(flip.other)));
        }
        out_ += "\n";
    }

    void counts() {
        page_.section(PagePlace::basis, "What was searched");
        const PlanCounts& counts = whole_.counts;
        std::vector<std::string> rejected;
        const auto add = [&](std::int64_t number, std::string_view why) {
            if (number > 0) rejected.push_back(fmt::format("{} {}", grouped(number), why));
        };
        add(counts.memory, "because they do not fit");
        add(counts.bound, "because a lower bound exceeds the best times");
        add(counts.limit, "because of your limits");
        add(counts.unsuited, "because the slice cannot be wired for them");
        say(fmt::format("{} plans were looked at: {} priced{}{}.", grouped(counts.looked_at), grouped(counts.priced),
                        rejected.empty() ? "" : "; rejected ", fmt::join(rejected, ", ")));
        if (counts.divides > 0) {
            say(fmt::format("Besides, {} of the chips {} not divide the model or the batch.",
                            counts.divides == 1 ? "one split" : grouped(counts.divides) + " splits",
                            counts.divides == 1 ? "does" : "do"));
        }
        if (counts.unsearched == 0) return;
        say(fmt::format("{}: {}{} plans were not looked at, and one of them may be better.",
                        whole_.stopped ? "Interrupted" : "As --limit says", answer_.counted ? "" : "more than ",
                        grouped(counts.unsearched)));
    }

    const PlanJobsAnswer& whole_;
    const PlanAnswer& answer_;
    std::string out_;
    PageWriter page_;
};

}  // namespace

std::string plan_text(const PlanJobsAnswer& answer) { return PlanText(answer).run(); }

ReportPage plan_sections(const PlanJobsAnswer& answer) {
    PlanText text(answer);
    (void)text.run();
    return text.page();
}

}  // namespace roofline::core
