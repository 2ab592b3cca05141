#include "report/plan/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/figure.hpp"
#include "report/model/model_words.hpp"
#include "report/train/train_figures.hpp"
#include "report/train/train_text.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;

// What a plan's object has of that of `roofline train`.
constexpr std::string_view shown_keys[] = {"plan",   "memory_bytes", "fits",         "step",    "bound_by",
                                           "step_s", "mfu",          "tokens_per_s", "train_s", "usd"};

Json shorter(const Json& whole) {
    Json plan = Json::object();
    for (const std::string_view key : shown_keys) {
        const auto found = whole.find(key);
        if (found != whole.end()) plan[std::string(key)] = *found;
    }
    return plan;
}

Json train_object(const TrainAnswer& answer) { return json_of(train_figures(), answer); }

// "8 microbatches, interleaved:2, remat full"
std::string choice_text(const TrainAnswer& answer) {
    std::string text =
        answer.batch->microbatches == 1 ? "1 microbatch" : fmt::format("{} microbatches", answer.batch->microbatches);
    if (!answer.schedule.empty()) text += ", " + answer.schedule;
    return text + ", remat " + remat_text(answer.options);
}

std::string step_text(const TrainAnswer& answer) {
    return to_text(Seconds{answer.step->times.expected.value_or(answer.step->times.lower)});
}

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

// "3 % slower", and how sure that is.
std::string beside_text(const PlanBeside& each, double best_s) {
    const double seconds = each.answer.step->times.expected.value_or(each.answer.step->times.lower);
    return seconds <= best_s ? std::string("best") : fmt::format("+{:.1f} %", 100 * (seconds / best_s - 1));
}

class PlanText {
public:
    explicit PlanText(const PlanAnswer& answer) : answer_(answer) {}

    std::string run() {
        out_ = train_text(answer_.best);
        if (!out_.ends_with("\n\n")) out_ += "\n";
        if (answer_.fits) {
            plans();
            larger();
            elasticities();
        } else {
            constexpr std::string_view remedy =
                " More chips, moments in fewer bits (--optimizer adam,moments=bf16) or shorter sequences would make "
                "one fit.";
            say(fmt::format("{}: the one above needs the least memory.{}",
                            answer_.counts.unsearched > 0 ? "No plan that was looked at fits" : "No plan fits",
                            answer_.counts.unsearched > 0 ? "" : remedy));
        }
        counts();
        for (const std::string& note : answer_.notes) say("note: " + note);
        return std::move(out_);
    }

private:
    void say(const std::string& text) { out_ += "  " + wrapped(text, 2, 4, page_width) + "\n"; }

    void plans() {
        const bool expected = answer_.best.step->times.expected.has_value();
        const double best_s = expected ? *answer_.best.step->times.expected : answer_.best.step->times.lower;
        Table table;
        table.head = {"plan", "", expected ? "expected" : "lower", "", "memory", "slower"};
        table.right = {false, false, true, true, true, true};
        bool ties = false;
        for (const PlanBeside& each : answer_.plans) {
            const TrainAnswer& plan = each.answer;
            ties = ties || (each.sure && *each.sure < tie);
            table.rows.push_back({core::plan_text(plan.plan), choice_text(plan), step_text(plan),
                                  beside_text(each, best_s), to_text(Bytes{plan.step->memory.total()}),
                                  each.sure ? share_text(*each.sure) : ""});
        }
        out_ += table_text(table, 2) + "\n";
        if (!expected) return;
        say("slower: how often, of measured plans whose expected times differ as much as this one's from the best, "
            "the one that is expected to be slower was.");
        if (ties) {
            say(
                fmt::format("Plans below {} are near-ties: choose among them by memory, by what your framework does "
                            "best, or by a measurement.",
                            share_text(tie)));
        }
        out_ += "\n";
    }

    void larger() {
        for (const LargerPlan& each : answer_.larger) {
            say(fmt::format("With {} more memory per chip: {}, {}: {:.0f} % less time.", to_text(Bytes{each.bytes}),
                            core::plan_text(each.answer.plan), choice_text(each.answer), 100 * each.gain));
        }
        if (!answer_.larger.empty()) out_ += "\n";
    }

    void elasticities() {
        std::vector<std::string> parts;
        for (const Elasticity& each : answer_.changes.elasticities) {
            if (std::abs(each.value) >= 0.005) parts.push_back(fmt::format("{} {:+.2f}", each.path, each.value));
        }
        if (parts.empty()) return;
        say(fmt::format("Per cent of time for each per cent more: {}.", fmt::join(parts, ", ")));
        constexpr std::size_t most_flips = 3;
        for (std::size_t i = 0; i < std::min(most_flips, answer_.changes.flips.size()); ++i) {
            const Flip& flip = answer_.changes.flips[i];
            say(fmt::format("With {} {} {} ({:.2f} times the machine's): {} would be faster.", flip.path,
                            flip.factor > 1 ? "above" : "below", flip.at, flip.factor, flip.plan));
        }
        out_ += "\n";
    }

    void counts() {
        const PlanCounts& counts = answer_.counts;
        std::vector<std::string> rejected;
        const auto add = [&](std::int64_t number, std::string_view why) {
            if (number > 0) rejected.push_back(fmt::format("{} {}", grouped(number), why));
        };
        add(counts.memory, "because they do not fit");
        add(counts.divides, "because they do not divide the model or the batch");
        add(counts.bound, "because a lower bound exceeds the best times");
        add(counts.unsuited, "because the slice cannot be wired for them");
        say(fmt::format("{} plans were looked at: {} priced{}{}.", grouped(counts.looked_at), grouped(counts.priced),
                        rejected.empty() ? "" : "; rejected ", fmt::join(rejected, ", ")));
        if (counts.unsearched == 0) return;
        say(fmt::format("{}: {}{} plans were not looked at, and one of them may be better.",
                        answer_.stopped ? "Interrupted" : "As --limit says", answer_.counted ? "" : "more than ",
                        grouped(counts.unsearched)));
    }

    static constexpr double tie = 0.75;
    const PlanAnswer& answer_;
    std::string out_;
};

}  // namespace

std::string plan_text(const PlanAnswer& answer) { return PlanText(answer).run(); }

std::string plan_json(const PlanAnswer& answer, std::optional<double> search_s) {
    Json json = Json::object();
    json["schema"] = 1;
    json["best"] = answer.fits ? train_object(answer.best) : Json();
    json["nearest"] = answer.fits ? Json() : train_object(answer.best);
    json["plans"] = Json::array();
    for (const PlanBeside& each : answer.plans) {
        json["plans"].push_back(shorter(train_object(each.answer)));
        json["plans"].back()["sure"] = figure_value(each.sure);
    }
    json["frontier"] = Json::array();
    json["searched"] = answer.counts.looked_at;
    json["priced"] = answer.counts.priced;
    json["rejected"] = {{"divides", answer.counts.divides},
                        {"memory", answer.counts.memory},
                        {"bound", answer.counts.bound},
                        {"limit", 0},
                        {"unsuited", answer.counts.unsuited}};
    json["unsearched"] = answer.counted ? Json(answer.counts.unsearched) : Json();
    json["stopped"] = answer.stopped ? Json("interrupt") : answer.counts.unsearched > 0 ? Json("limit") : Json();
    json["search_s"] = figure_value(search_s);
    json["elasticities"] = Json::array();
    for (const Elasticity& each : answer.changes.elasticities) {
        json["elasticities"].push_back({{"path", each.path}, {"value", each.value}});
    }
    json["flips"] = Json::array();
    for (const Flip& flip : answer.changes.flips) {
        json["flips"].push_back({{"path", flip.path}, {"at", flip.at}, {"factor", flip.factor}, {"plan", flip.plan}});
    }
    json["next"] = Json::array();
    for (const LargerPlan& each : answer.larger) {
        json["next"].push_back({{"needs", fmt::format("hbm.capacity=+{}", to_text(Bytes{each.bytes}))},
                                {"bytes", each.bytes},
                                {"plan", core::plan_text(each.answer.plan)},
                                {"gain", each.gain}});
    }
    json["part"] = Json();
    json["notes"] = answer.notes;
    return dumped(json) + "\n";
}

Table plan_table(const PlanAnswer& answer) {
    std::vector<TrainAnswer> plans;
    for (const PlanBeside& each : answer.plans) plans.push_back(each.answer);
    if (plans.empty()) plans.push_back(answer.best);
    return train_table(plans);
}

}  // namespace roofline::core
