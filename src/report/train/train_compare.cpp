#include "report/train/train_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "report/model/model_words.hpp"
#include "report/table.hpp"
#include "report/train/train_json.hpp"
#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr const char* nothing = "-";

std::string seconds(const std::optional<double>& value) { return value ? to_text(Seconds{*value}) : nothing; }

// Of what only a predicted step has.
template <class Text>
std::string of_step(const TrainAnswer& answer, const Text& text) {
    return answer.step ? text(*answer.step) : nothing;
}

std::string held(const TrainAnswer& answer) {
    return of_step(answer, [](const TrainStep& step) { return to_text(Bytes{step.memory.total()}); });
}

std::string fits(const TrainAnswer& answer) {
    return of_step(answer, [](const TrainStep& step) -> std::string {
        return !step.memory.capacity ? nothing : step.memory.fits() ? "yes" : "no";
    });
}

std::string bound_by(const TrainAnswer& answer) {
    return of_step(answer, [](const TrainStep& step) {
        const Resource* resource = step.program.analysis.total.bound_resource();
        return resource == nullptr ? nothing : resource->label;
    });
}

std::string bubble(const TrainAnswer& answer) {
    return of_step(answer, [](const TrainStep& step) {
        return step.times.bubble > 0 ? percent_text(step.times.bubble) + " %" : nothing;
    });
}

// One of the times of a step.
template <auto time>
std::string step_time(const TrainAnswer& answer) {
    return of_step(answer, [](const TrainStep& step) { return seconds(step.times.*time); });
}

std::string rate(std::optional<double> value) {
    constexpr double most = 1e15;  // of a slice that no one has
    if (!value) return nothing;
    return *value < 1000 || *value > most ? fmt::format("{:.3g}", *value) : grouped(static_cast<std::int64_t>(*value));
}

std::string usd(const TrainAnswer& answer) {
    return answer.cost && answer.cost->usd ? fmt::format("{:.3g}", *answer.cost->usd) : nothing;
}

/// What is said of each slice; a line that says nothing of any of them is left out.
struct StepLine {
    const char* label;
    std::string (*text)(const TrainAnswer& answer);
};
constexpr StepLine lines[] = {
    {"chips", [](const TrainAnswer& answer) { return grouped(answer.slice.chips()); }},
    {"plan", [](const TrainAnswer& answer) { return answer.step ? plan_text(answer.plan) : nothing; }},
    {"a chip holds", held},
    {"fits", fits},
    {"bound by", bound_by},
    {"bubble", bubble},
    {"lower", step_time<&StepTimes::lower>},
    {"in turn", step_time<&StepTimes::sequential>},
    {"expected", step_time<&StepTimes::expected>},
    {"no overlap", step_time<&StepTimes::upper>},
    {"MFU", [](const TrainAnswer& answer) { return answer.mfu ? percent_text(*answer.mfu) + " %" : nothing; }},
    {"tokens/s", [](const TrainAnswer& answer) { return rate(answer.tokens_per_s); }},
    {"a chip", [](const TrainAnswer& answer) { return rate(tokens_per_s_per_chip(answer)); }},
    {"training", [](const TrainAnswer& answer) { return answer.cost ? days_text(answer.cost->seconds) : nothing; }},
    {"chip-hours",
     [](const TrainAnswer& answer) { return answer.cost ? fmt::format("{:.3g}", answer.cost->chip_hours) : nothing; }},
    {"USD", usd},
};

std::string heading(const TrainAnswer& front) {
    std::string text = fmt::format("{}: {} parameters", front.model.name, short_count(front.counts.total.params));
    if (front.batch) {
        text += fmt::format(", {} tokens a step, sequences of {}", short_count(Rational(front.batch->tokens)),
                            grouped(front.batch->sequence));
        text += "\n" + recipe_text(front);
    }
    return text + "\n\n";
}

}  // namespace

std::string train_compare_text(const std::vector<TrainAnswer>& answers) {
    Table table;
    table.head = {""};
    table.right = {false};
    for (const TrainAnswer& answer : answers) {
        table.head.push_back(slice_id(answer.slice));
        table.right.push_back(true);
    }
    for (const StepLine& line : lines) {
        std::vector<std::string> row{line.label};
        for (const TrainAnswer& answer : answers) row.push_back(line.text(answer));
        if (std::any_of(row.begin() + 1, row.end(), [](const std::string& cell) { return cell != nothing; })) {
            table.rows.push_back(std::move(row));
        }
    }
    std::string text = heading(answers.front()) + table_text(table, 2) + "\n";
    std::vector<std::string> notes;
    for (const TrainAnswer& answer : answers) {
        for (const std::string& note : answer.notes) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
        }
    }
    for (const std::string& note : notes) text += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
    return text;
}

Table train_compare_table(const std::vector<TrainAnswer>& answers) {
    Table table;
    for (const TrainAnswer& answer : answers) {
        Table one = train_table(answer);
        if (table.rows.empty()) {
            table = std::move(one);
        } else {
            table.rows.push_back(std::move(one.rows.front()));
        }
    }
    return table;
}

std::string train_compare_json(const std::vector<TrainAnswer>& answers) {
    std::string json = "{\"schema\":1,\"machines\":[";
    for (const TrainAnswer& answer : answers) {
        if (&answer != &answers.front()) json += ",";
        json += train_json(answer);
        json.pop_back();  // the line's end
    }
    return json + "]}\n";
}

}  // namespace roofline::core
