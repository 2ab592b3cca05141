#include "report/plan/plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "network/slice_shapes.hpp"
#include "report/emitted_json.hpp"
#include "report/figure.hpp"
#include "report/plan/plan_words.hpp"
#include "report/train/train_figures.hpp"
#include "report/train/train_text.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;

Json train_object(const TrainAnswer& answer) { return json_of(train_figures(), answer); }

std::string step_text(const TrainAnswer& answer) { return to_text(Seconds{step_seconds(answer)}); }

// "fsdp=8, 2 microbatches, remat full"
std::string whole_text(const TrainAnswer& answer) {
    return fmt::format("{}, {}", core::plan_text(answer.plan), choice_text(answer));
}

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
            for (const std::string& note : *notes) out_ += "\n  " + wrapped("note: " + note, 2, 8, page_width);
        }
        if (out_.back() != '\n') out_ += "\n";
        command();
        return std::move(out_);
    }

private:
    void say(const std::string& text) { out_ += "  " + wrapped(text, 2, 4, page_width) + "\n"; }

    // Why the plan above is not within the limits, and what would let it pass.
    void limits() {
        const PlanJobAnswer& job = whole_.jobs[whole_.chosen];
        if (!answer_.fits || job.exceeded.empty()) return;
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
        say(fmt::format("The best plan of each job by {}; time, cost and energy are {}:",
                        objective_text(whole_.objective, whole_.basis), basis_text(whole_.basis)));
        out_ += "\n" + table_text(jobs_table(whole_), 2) + "\n";
        const bool bounds = std::any_of(whole_.jobs.begin(), whole_.jobs.end(), [](const PlanJobAnswer& job) {
            return job.best && !at_least(*job.best).empty();
        });
        if (bounds) say(">=: a lower bound, because no calibration covers that machine.\n");
    }

    // Nothing fits: what would let the plan above fit.
    void nearest() {
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
    }

    void front() {
        if (!whole_.front_of) return;
        if (whole_.front.empty()) {
            say("The front is empty because no plan is within your limits.");
        } else {
            say(fmt::format("Plans that no other one beats in both {} and {}:",
                            objective_text(whole_.front_of->first, whole_.basis),
                            objective_text(whole_.front_of->second, whole_.basis)));
            out_ += "\n" + table_text(front_table(whole_), 2);
        }
        out_ += "\n";
    }

    void plans() {
        if (whole_.jobs.size() > 1) say(fmt::format("On {}:", whole_.jobs[whole_.chosen].slice) + "\n");
        const bool expected = answer_.best.step->times.expected.has_value();
        const double best_s = expected ? *answer_.best.step->times.expected : answer_.best.step->times.lower;
        Table table;
        const bool run = whole_.basis == PlanBasis::run;
        const bool sure = std::any_of(answer_.plans.begin(), answer_.plans.end(),
                                      [](const PlanBeside& each) { return each.sure.has_value(); });
        // Long plans stand last, so that the figures stay together.
        table.head = {expected ? "expected" : "lower", ""};
        if (!expected) table.head.emplace_back("no overlap");
        if (run) table.head.emplace_back(answer_.best.goodput ? "calendar" : "run");
        table.head.emplace_back("memory");
        if (sure) table.head.emplace_back("certainty");
        table.right = std::vector<bool>(table.head.size(), true);
        for (const char* head : {"plan", ""}) {
            table.head.emplace_back(head);
            table.right.push_back(false);
        }
        bool ties = false;
        for (const PlanBeside& each : answer_.plans) {
            const TrainAnswer& plan = each.answer;
            ties = ties || (each.sure && *each.sure < near_tie_certainty);
            std::vector<std::string> row{step_text(plan)};
            row.push_back(table.rows.empty() ? "best" : beside_text(step_seconds(plan) / best_s));
            if (!expected) row.push_back(to_text(Seconds{plan.step->times.upper}));
            if (run) row.push_back(std::string(at_least(plan)) + days_text(values_of(plan, whole_.basis).seconds));
            row.push_back(to_text(Bytes{plan.step->memory.total()}));
            if (sure) row.push_back(each.sure ? share_text(*each.sure) : "");
            row.push_back(core::plan_text(plan.plan));
            row.push_back(choice_text(plan));
            table.rows.push_back(std::move(row));
        }
        out_ += table_text(table, 2) + "\n";
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
};

Json rejected_json(const PlanCounts& counts) {
    return {{"divides", counts.divides},
            {"memory", counts.memory},
            {"bound", counts.bound},
            {"limit", counts.limit},
            {"unsuited", counts.unsuited}};
}

Json exceeded_json(const PlanJobAnswer& job) {
    Json list = Json::array();
    constexpr double day_s = 86400;
    for (const ExceededLimit& each : job.exceeded) {
        const bool days = each.limit == PlanLimit::days;
        list.push_back({{"limit", days                             ? "days"
                                  : each.limit == PlanLimit::usd   ? "usd"
                                  : each.limit == PlanLimit::power ? "power_w"
                                                                   : "chips"},
                        {"value", days ? each.value / day_s : each.value},
                        {"allowed", days ? each.allowed / day_s : each.allowed}});
    }
    return list;
}

Json values_json(const PlanValues& values) {
    return {{"seconds", values.seconds},
            {"usd", figure_value(values.usd)},
            {"energy_j", figure_value(values.joules)},
            {"power_w", figure_value(values.watts)}};
}

// The slice, the batch and the sequence of a job.
Json job_object(const PlanJobAnswer& job) {
    return {{"machine", job.slice},
            {"chips", job.chips},
            {"batch_tokens", job.batch_tokens},
            {"seq", job.sequence},
            {"products", job.products ? Json(name(*job.products)) : Json()},
            {"optimizer", optimizer_text(job.options)}};
}

Json jobs_json(const PlanJobsAnswer& answer) {
    Json list = Json::array();
    for (const PlanJobAnswer& job : answer.jobs) {
        Json each = job_object(job);
        each["searched"] = job.counts.looked_at;
        each["priced"] = job.counts.priced;
        each["rejected"] = rejected_json(job.counts);
        each["best"] = job.best ? brief_plan(*job.best) : Json();
        each["values"] = job.values ? values_json(*job.values) : Json();
        each["exceeded"] = exceeded_json(job);
        each["refused"] = job.refused ? Json(job.refused->message) : Json();
        list.push_back(std::move(each));
    }
    return list;
}

Json frontier_json(const PlanJobsAnswer& answer) {
    Json list = Json::array();
    for (const FrontPlan& plan : answer.front) {
        Json each = job_object(answer.jobs[plan.job]);
        each["values"] = values_json(plan.values);
        each.update(brief_plan(plan.answer));
        list.push_back(std::move(each));
    }
    return list;
}

Json limits_json(const PlanLimits& limits) {
    constexpr double day_s = 86400;
    return {{"days", limits.seconds ? Json(*limits.seconds / day_s) : Json()},
            {"usd", figure_value(limits.usd)},
            {"power_w", figure_value(limits.watts)},
            {"chips", figure_value(limits.chips)}};
}

}  // namespace

std::string plan_text(const PlanJobsAnswer& answer) { return PlanText(answer).run(); }

std::string plan_json(const PlanJobsAnswer& whole, std::optional<double> search_s) {
    const PlanAnswer& answer = whole.plan;
    Json json = Json::object();
    json["schema"] = 1;
    json["best"] = whole.within() ? train_object(answer.best) : Json();
    json["nearest"] = whole.within() ? Json() : train_object(answer.best);
    json["for"] = name(whole.objective);
    json["values_of"] = whole.basis == PlanBasis::run    ? "run"
                        : whole.basis == PlanBasis::step ? "step"
                                                         : "million tokens";
    json["limits"] = limits_json(whole.limits);
    json["exceeded"] = exceeded_json(whole.jobs[whole.chosen]);
    json["plans"] = Json::array();
    for (const PlanBeside& each : answer.plans) {
        json["plans"].push_back(brief_plan(each.answer));
        json["plans"].back()["sure"] = figure_value(each.sure);
    }
    json["jobs"] = jobs_json(whole);
    json["front_of"] = whole.front_of ? Json({name(whole.front_of->first), name(whole.front_of->second)}) : Json();
    json["frontier"] = frontier_json(whole);
    json["searched"] = whole.counts.looked_at;
    json["priced"] = whole.counts.priced;
    json["rejected"] = rejected_json(whole.counts);
    json["unsearched"] = answer.counted ? Json(whole.counts.unsearched) : Json();
    json["stopped"] = whole.stopped ? Json("interrupt") : whole.counts.unsearched > 0 ? Json("limit") : Json();
    json["search_s"] = figure_value(search_s);
    json["elasticities"] = Json::array();
    for (const Elasticity& each : answer.changes.elasticities) {
        json["elasticities"].push_back({{"path", each.path}, {"value", each.value}});
    }
    json["flips"] = Json::array();
    for (const Flip& flip : answer.changes.flips) {
        json["flips"].push_back(
            {{"path", flip.path}, {"at", flip.at}, {"factor", flip.factor}, {"plan", whole_text(flip.other)}});
    }
    json["next"] = Json::array();
    for (const LargerPlan& each : answer.larger) {
        json["next"].push_back({{"needs", fmt::format("hbm.capacity=+{}", to_text(Bytes{each.bytes}))},
                                {"bytes", each.bytes},
                                {"plan", whole_text(each.answer)},
                                {"gain", each.gain}});
    }
    if (answer.best.emitted) json["emitted"] = emitted_json(answer.best.emitted);
    json["part"] = Json();
    json["command"] = optional_string(fmt::format("{}", fmt::join(whole.command, " ")));
    json["notes"] = answer.notes;
    for (const std::string& note : whole.notes) json["notes"].push_back(note);
    return dumped(json) + "\n";
}

Table plan_table(const PlanJobsAnswer& answer) {
    std::vector<TrainAnswer> plans;
    std::vector<PlanValues> values;
    const auto add = [&](const TrainAnswer& plan, const std::optional<PlanValues>& known) {
        plans.push_back(plan);
        values.push_back(known.value_or(PlanValues{}));
    };
    if (answer.front_of) {
        for (const FrontPlan& each : answer.front) add(each.answer, each.values);
    } else if (answer.jobs.size() > 1) {
        for (const PlanJobAnswer& job : answer.jobs) {
            if (job.best) add(*job.best, job.values);
        }
    } else {
        for (const PlanBeside& each : answer.plan.plans) add(each.answer, values_of(each.answer, answer.basis));
    }
    if (plans.empty()) add(answer.plan.best, std::nullopt);
    Table table = train_table(plans);
    const auto number = [](const std::optional<double>& value) { return value ? exact_text(*value) : std::string(); };
    for (const std::string_view head : {"power_w", "energy_j"}) {
        table.head.emplace_back(head);
        table.right.push_back(true);
    }
    for (std::size_t i = 0; i < plans.size(); ++i) {
        table.rows[i].push_back(number(values[i].watts));
        table.rows[i].push_back(number(values[i].joules));
    }
    return table;
}

}  // namespace roofline::core
