#include "report/train/train_figures.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <set>

#include "plan/training_peak.hpp"
#include "report/emitted_json.hpp"
#include "report/model/model_words.hpp"
#include "report/plan_json.hpp"
#include "report/screen_notes.hpp"
#include "report/source_json.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Answer = const TrainAnswer&;
using Json = FigureValue;

Json times_json(Answer answer) {
    Json json = Json::object();
    if (!answer.step) return json;
    const Analysis& total = answer.step->program.analysis.total;
    for (std::size_t i = 0; total.seconds && i < total.pricing.resources.size(); ++i) {
        json[total.pricing.resources[i].id] = total.least_seconds[i];
    }
    return json;
}

/// The peak rate of a chip that the MFU is relative to.
Json peak_json(Answer answer) {
    const auto peak = training_peak(answer.slice.machine, answer.products);
    return {{"dtype", peak ? Json(name(peak->dtype)) : Json()}, {"flops_per_s", answer.demand.peak}};
}

Json collectives_json(Answer answer) {
    Json list = Json::array();
    if (!answer.step) return list;
    for (const StepCollective& each : step_collectives(*answer.step)) {
        list.push_back({{"kind", collective_name(each.kind)},
                        {"axes", each.axes},
                        {"count", each.count},
                        {"bytes", each.bytes},
                        {"time_s", each.seconds}});
    }
    return list;
}

Json lora_json(Answer answer) {
    if (!answer.model.lora) return {};
    const Lora& lora = *answer.model.lora;
    return {{"rank", lora.rank}, {"on", lora.on}, {"frozen_dtype", lora.frozen ? Json(name(*lora.frozen)) : Json()}};
}

Json thresholds_json(Answer answer) {
    Json json = Json::object();
    for (const PlanThreshold& each : answer.thresholds) json[each.key] = {{"value", each.value}, {"now", each.now}};
    return json;
}

Json sources_json(Answer answer) {
    std::set<std::string> seen;
    Json list = Json::array();
    if (!answer.step) return list;
    for (const Resource& resource : answer.step->program.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) {
            if (seen.insert(term.rate.path).second) list.push_back(source_json(term.rate));
        }
    }
    return list;
}

Json plans_json(Answer answer) {
    Json list = Json::array();
    if (!answer.search) return list;
    for (const TrainAnswer& each : answer.search->plans) list.push_back(brief_plan(each));
    return list;
}

template <auto part>
Json memory(Answer answer) {
    return answer.step ? Json(answer.step->memory.*part) : Json();
}

template <auto time>
Json step_time(Answer answer) {
    return answer.step ? figure_value(answer.step->times.*time) : Json();
}

template <auto stage>
Json stage_name(Answer answer) {
    return answer.step ? optional_string((*answer.step).*stage) : Json();
}

template <auto part>
Json cost(Answer answer) {
    return answer.cost ? figure_value((*answer.cost).*part) : Json();
}

template <auto part>
Json goodput(Answer answer) {
    return answer.goodput ? figure_value((*answer.goodput).*part) : Json();
}

template <auto part>
Json calendar_cost(Answer answer) {
    return answer.goodput && answer.cost ? figure_value(cost_with(*answer.goodput, *answer.cost).*part) : Json();
}

template <auto text>
Json framework(Answer answer) {
    return answer.framework ? optional_string((*answer.framework).*text) : Json();
}

std::string framework_cell(Answer answer) {
    if (!answer.framework) return "-";
    return framework_text(*answer.framework) + (answer.framework->by_default ? " (default)" : "");
}

const Resource* bound_of(Answer answer) {
    return answer.step ? answer.step->program.analysis.total.bound_resource() : nullptr;
}

std::string bound_cell(Answer answer) {
    const Resource* bound = bound_of(answer);
    return bound == nullptr ? "-" : bound->label;
}

std::string plan_cell(Answer answer) { return answer.step ? plan_text(answer.plan) : "-"; }

std::string bubble_cell(Answer answer) {
    return answer.step && answer.step->times.bubble > 0 ? in_percent(answer.step->times.bubble) : "-";
}

std::string in_tokens(double rate) {
    constexpr double most = 1e15;  // beyond the chip-hours of any real slice
    return rate < 1000 || rate > most ? in_three_digits(rate) : in_groups(rate);
}

/// Chip-hours and USD: "1,234,567"; three digits below 1000.
std::string in_amount(double value) {
    constexpr double least = 1000;
    constexpr double most = 1e15;
    return value >= least && value < most ? grouped(std::llround(value)) : in_three_digits(value);
}

std::string in_tenths_of_percent(double fraction) { return number_text(100 * fraction) + " %"; }

constexpr NumberText none = nullptr;

constexpr AnswerFigure<TrainAnswer> all[] = {
    {"schema", "", none, [](Answer) -> Json { return 1; }},
    {"model", "", none, [](Answer answer) -> Json { return answer.model.name; }},
    {"machine", "", none, [](Answer answer) -> Json { return slice_id(answer.slice); }},
    {"chips", "chips", in_groups, [](Answer answer) -> Json { return answer.slice.chips(); }},
    {"params", "", in_groups, [](Answer answer) -> Json { return answer.counts.total.params.to_double(); }},
    {"trained_params", "trained", in_groups,
     [](Answer answer) -> Json { return answer.counts.total.trained.to_double(); }},
    {"lora", "", none, lora_json},
    {"flops_per_token", "", in_flops, [](Answer answer) -> Json { return answer.demand.flops_per_token; }},
    {"seq", "", in_groups, [](Answer answer) -> Json { return answer.model.sequence; }},
    {"batch_tokens", "", in_groups, [](Answer answer) { return answer.batch ? Json(answer.batch->tokens) : Json(); }},
    {"plan", "plan", in_groups, [](Answer answer) { return plan_json(answer.plan); }, plan_cell},
    {"plan.mesh", "", none, [](Answer answer) -> Json { return mesh_option(answer.plan); }},
    {"plan.zero", "", in_groups, [](Answer answer) -> Json { return answer.plan.zero; }},
    {"plan.microbatches", "", in_groups,
     [](Answer answer) { return answer.batch ? Json(answer.batch->microbatches) : Json(); }},
    {"plan.schedule", "", none, [](Answer answer) { return optional_string(answer.schedule); }},
    {"plan.remat", "", none, [](Answer answer) -> Json { return remat_text(answer.options); }},
    {"plan.optimizer", "", none, [](Answer answer) -> Json { return optimizer_text(answer); }},
    {"plan.products", "", none, [](Answer answer) { return answer.products ? Json(name(*answer.products)) : Json(); }},
    {"plan.dispatch", "", none, [](Answer answer) { return answer.dispatch ? Json(name(*answer.dispatch)) : Json(); }},
    {"plan.overlap", "", none, [](Answer answer) -> Json { return answer.overlapped; }},
    {"framework", "framework", none, [](Answer answer) { return group_value(answer.framework.has_value()); },
     framework_cell},
    {"framework.name", "", none, framework<&Framework::name>},
    {"framework.version", "", none, framework<&Framework::version>},
    {"framework.since", "", none, framework<&Framework::since>},
    {"framework.default", "", none,
     [](Answer answer) { return answer.framework ? Json(answer.framework->by_default) : Json(); }},
    {"framework.memory", "", none,
     [](Answer answer) { return answer.reported_bytes ? Json(answer.framework->habits.memory) : Json(); }},
    {"framework.memory_bytes", "", in_bytes, [](Answer answer) { return figure_value(answer.reported_bytes); }},
    {"framework.note", "", none, framework<&Framework::note>},
    {"#framework.note", "", none,
     [](Answer answer) {
         return answer.framework && !answer.framework->by_default ? Json(answer.framework->note) : Json();
     }},
    {"memory_bytes", "", none, [](Answer answer) { return group_value(answer.step.has_value()); }},
    {"memory_bytes.params", "params", in_bytes, memory<&TrainingMemory::params>},
    {"memory_bytes.gradients", "gradients", in_bytes, memory<&TrainingMemory::gradients>},
    {"memory_bytes.optimizer", "optimizer", in_bytes, memory<&TrainingMemory::optimizer>},
    {"memory_bytes.activations", "activations", in_bytes, memory<&TrainingMemory::activations>},
    {"memory_bytes.working", "working", in_bytes, memory<&TrainingMemory::working>},
    {"memory_bytes.overhead", "allocator", in_bytes,
     [](Answer answer) { return answer.step ? Json(answer.step->memory.overhead()) : Json(); }},
    {"memory_bytes.total", "a chip holds", in_bytes,
     [](Answer answer) { return answer.step ? Json(answer.step->memory.total()) : Json(); }},
    {"capacity_bytes", "", in_bytes,
     [](Answer answer) { return answer.step ? figure_value(answer.step->memory.capacity) : Json(); }},
    {"fits", "fits", none,
     [](Answer answer) {
         return answer.step && answer.step->memory.capacity ? Json(answer.step->memory.fits()) : Json();
     }},
    {"step", "", none, [](Answer answer) { return group_value(answer.step.has_value()); }},
    {"step.lower_s", "lower", in_seconds, step_time<&StepTimes::lower>},
    {"step.sequential_s", "sequential", in_seconds, step_time<&StepTimes::sequential>},
    {"step.expected_s", "expected", in_seconds, step_time<&StepTimes::expected>},
    {"step.expected_error", "", in_percent, step_time<&StepTimes::expected_error>},
    {"step.upper_s", "no overlap", in_seconds, step_time<&StepTimes::upper>},
    {"step.bubble", "bubble", in_percent, step_time<&StepTimes::bubble>, bubble_cell},
    {"step.stage", "", none, stage_name<&TrainStep::stage>},
    {"step.fullest_stage", "", none, stage_name<&TrainStep::fullest>},
    {"time_s", "", in_seconds, times_json},
    {"bound_by", "bound by", none,
     [](Answer answer) { return bound_of(answer) == nullptr ? Json() : Json(bound_of(answer)->id); }, bound_cell},
    {"collectives", "", none, collectives_json},
    {"step_s", "step", in_seconds, [](Answer answer) { return figure_value(answer.step_s); }},
    {"mfu", "MFU", in_percent, [](Answer answer) { return figure_value(answer.mfu); }},
    {"mfu_peak", "", none, peak_json},
    {"tokens_per_s", "tokens/s", in_tokens, [](Answer answer) { return figure_value(answer.tokens_per_s); }},
    {"tokens_per_s_per_chip", "a chip", in_tokens,
     [](Answer answer) { return figure_value(tokens_per_s_per_chip(answer)); }},
    {"tokens", "", in_groups, [](Answer answer) { return answer.cost ? Json(answer.cost->tokens) : Json(); }},
    {"train_flops", "", in_flops, cost<&TrainingCost::flops>},
    {"train_s", "training", days_text, cost<&TrainingCost::seconds>},
    {"chip_hours", "chip-hours", in_amount, cost<&TrainingCost::chip_hours>},
    {"usd", "USD", in_amount, cost<&TrainingCost::usd>},
    {"goodput", "", none, [](Answer answer) { return group_value(answer.goodput.has_value()); }},
    {"goodput.fraction", "goodput", in_tenths_of_percent, goodput<&Goodput::fraction>},
    {"goodput.train_s", "calendar", days_text, calendar_cost<&TrainingCost::seconds>},
    {"goodput.chip_hours", "its chip-hours", in_amount, calendar_cost<&TrainingCost::chip_hours>},
    {"goodput.usd", "its USD", in_amount, calendar_cost<&TrainingCost::usd>},
    {"goodput.interruptions", "interruptions", in_three_digits, goodput<&Goodput::interruptions>},
    {"goodput.between_s", "", days_text, goodput<&Goodput::between_s>},
    {"goodput.checkpoint_bytes", "checkpoint", in_bytes, goodput<&Goodput::checkpoint_bytes>},
    {"goodput.checkpoint_s", "", in_seconds, goodput<&Goodput::checkpoint_s>},
    {"goodput.interval_s", "", days_text, goodput<&Goodput::interval_s>},
    {"goodput.writing", "", in_tenths_of_percent, goodput<&Goodput::writing>},
    {"goodput.rework", "", in_tenths_of_percent, goodput<&Goodput::rework>},
    {"goodput.restarts", "", in_tenths_of_percent, goodput<&Goodput::restarts>},
    {"thresholds", "", none, thresholds_json},
    {"plans", "", none, plans_json},
    {"searched", "", none, [](Answer answer) -> Json { return answer.search ? answer.search->searched : 0; }},
    {"search_s", "", none, [](Answer answer) { return answer.search ? figure_value(answer.search->seconds) : Json(); }},
    {"emitted", "", none, [](Answer answer) -> Json { return emitted_json(answer.emitted); }},
    {"notes", "", none, [](Answer answer) -> Json { return answer.notes; }},
    {"sources", "", none, sources_json},
};

constexpr FigureColumn columns[] = {{"model"},
                                    {"machine"},
                                    {"chips"},
                                    {"seq"},
                                    {"batch_tokens"},
                                    {"plan.mesh"},
                                    {"plan.zero"},
                                    {"plan.microbatches"},
                                    {"plan.schedule"},
                                    {"plan", "*"},
                                    {"plan.remat"},
                                    {"plan.optimizer"},
                                    {"plan.products"},
                                    {"plan.dispatch"},
                                    {"plan.overlap"},
                                    {"framework.name", "framework"},
                                    {"framework.since", "framework_since"},
                                    {"framework.default", "framework_default"},
                                    {"#framework.note", "framework_note"},
                                    {"memory_bytes.params", "params_bytes"},
                                    {"memory_bytes.gradients", "gradients_bytes"},
                                    {"memory_bytes.optimizer", "optimizer_bytes"},
                                    {"memory_bytes.activations", "activations_bytes"},
                                    {"memory_bytes.working", "working_bytes"},
                                    {"memory_bytes.total", "total_bytes"},
                                    {"fits"},
                                    {"step.lower_s"},
                                    {"step.sequential_s"},
                                    {"step.expected_s"},
                                    {"step.upper_s"},
                                    {"bound_by"},
                                    {"mfu"},
                                    {"tokens_per_s"},
                                    {"train_s"},
                                    {"usd"},
                                    {"goodput.fraction", "goodput"},
                                    {"goodput.train_s", "calendar_s"},
                                    {"goodput.usd", "calendar_usd"}};
static_assert(named(all, columns));

constexpr FigureLine lines[] = {{"chips", true},
                                {"plan", true},
                                {"framework", true},
                                {"memory_bytes.total", true},
                                {"fits", true},
                                {"bound_by", true},
                                {"step.bubble", true},
                                {"step.lower_s", true},
                                {"step.sequential_s", true},
                                {"step.expected_s", true},
                                {"step.upper_s", true},
                                {"mfu", true},
                                {"tokens_per_s", true},
                                {"tokens_per_s_per_chip", true},
                                {"train_s", true},
                                {"chip_hours", true},
                                {"usd", true},
                                {"goodput.fraction", true},
                                {"goodput.train_s", true},
                                {"goodput.chip_hours", true},
                                {"goodput.usd", true}};
static_assert(named(all, lines));

}  // namespace

std::span<const AnswerFigure<TrainAnswer>> train_figures() { return all; }

FigureValue brief_plan(const TrainAnswer& answer) {
    constexpr std::string_view keys[] = {"plan",   "memory_bytes", "fits",         "step",    "bound_by",
                                         "step_s", "mfu",          "tokens_per_s", "train_s", "usd"};
    const Json whole = json_of(all, answer);
    Json plan = Json::object();
    for (const std::string_view key : keys) {
        const auto found = whole.find(key);
        if (found != whole.end()) plan[std::string(key)] = *found;
    }
    return plan;
}

std::string train_json(const TrainAnswer& answer) { return dumped(json_of(all, answer)) + "\n"; }

std::string train_json(const std::vector<TrainAnswer>& answers) {
    std::vector<std::string> each;
    for (const TrainAnswer& answer : answers) each.push_back(dumped(json_of(all, answer)));
    return machines_json(each);
}

Table train_table(std::span<const TrainAnswer> answers) { return figure_table(all, columns, answers); }

std::string train_heading(const TrainAnswer& front) {
    std::string text = fmt::format("{}: {} parameters", front.model.name, short_count(front.counts.total.params));
    if (front.batch) {
        text += fmt::format(", {} tokens per step, sequences of {}", short_count(Rational(front.batch->tokens)),
                            grouped(front.batch->sequence));
        if (front.model.lora) text += "\n" + trained_text(front);
        text += "\n" + recipe_text(front);
    }
    return text;
}

Table train_comparison(const std::vector<TrainAnswer>& answers) {
    return comparison_table(all, lines, answers, [](Answer answer) { return slice_id(answer.slice); });
}

std::string train_compare_text(const std::vector<TrainAnswer>& answers) {
    std::vector<std::vector<std::string>> notes;
    for (const TrainAnswer& answer : answers) notes.push_back(notes_for_screen(answer.notes));
    return train_heading(answers.front()) + "\n\n" + table_text(train_comparison(answers), 2) + "\n" +
           notes_once(notes);
}

}  // namespace roofline::core
