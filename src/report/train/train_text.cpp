#include "report/train/train_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/training_peak.hpp"
#include "report/model/model_words.hpp"
#include "report/page/page_writer.hpp"
#include "report/screen_notes.hpp"
#include "report/table.hpp"
#include "report/train/step_expectation.hpp"
#include "report/train/train_figures.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_collectives = 6;

std::string bar_of(double share) {
    if (!(share > 0)) return "";
    return std::string(static_cast<std::size_t>(std::lround(std::clamp(share * 30, 1.0, 30.0))), '#');
}

// Returns "1.2 M"; works for any count, even millions of years.
std::string many(double count) {
    const std::string text = to_text(Flops{count});  // Flops print as "1.2 MFLOP"; the unit is cut off
    return text.substr(0, text.find("FLOP"));
}

class TrainText {
public:
    explicit TrainText(const TrainAnswer& answer) : answer_(answer) {}

    std::string run(bool notes) {
        heading();
        if (answer_.step) {
            memory();
            step();
            collectives();
        }
        rates();
        cost();
        verdict();
        for (const std::string& note : notes_for_screen(answer_.notes)) {
            page_.note(note);
            if (notes) out_ += "\n  " + wrapped("note: " + note, 2, 8, page_width);
        }
        out_ += "\n";
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    void line(std::string_view label, std::string_view value, std::string_view remark, PageFact more = {}) {
        more.label = label;
        more.value = value;
        if (more.remark.empty()) more.remark = remark;
        page_.fact(std::move(more));
        std::string text = fmt::format("  {:<13} {:>12}   {}", label, value, remark);
        while (text.back() == ' ') text.pop_back();
        out_ += text + "\n";
    }

    [[nodiscard]] std::string text(std::string_view key) const { return text_of(train_figures(), key, answer_); }

    // Prints a quantity with its label.
    void figure(std::string_view key, std::string_view remark, PageFact more = {}) {
        more.exact = fact_of(train_figures(), key, answer_).exact;
        line(find_figure(train_figures(), key).label, text(key), remark, std::move(more));
    }

    // A quantity without a label, which continues the line above.
    void further(std::string_view key, std::string_view remark) {
        line("", text(key), remark, {{}, {}, {}, fact_of(train_figures(), key, answer_).exact});
    }

    void heading() {
        const std::int64_t chips = answer_.slice.chips();
        out_ = fmt::format("{}   {} parameters                {}, {}\n\n", answer_.model.name,
                           short_count(answer_.counts.total.params), answer_.slice.machine.name,
                           chips == 1 ? "1 chip" : fmt::format("{} = {} chips", answer_.slice.shape_text(), chips));
        question();
        page_.section(PagePlace::answer, "What limits it");
        page_.say(binding_limit(answer_));
        page_.section(PagePlace::answer, "Job and plan");
        if (answer_.batch) {
            const TrainingBatch& batch = *answer_.batch;
            std::string text = batch.tokens % batch.sequence == 0
                                   ? fmt::format("tokens per step: {} sequences of {}",
                                                 grouped(batch.tokens / batch.sequence), grouped(batch.sequence))
                                   : fmt::format("tokens per step, sequences of {}", grouped(batch.sequence));
            if (!answer_.sequence_given) {
                text += fmt::format(" (--seq is not given; the model's context is {})", grouped(answer_.model.context));
            }
            if (batch.microbatches > 1) text += fmt::format(", {} microbatches", grouped(batch.microbatches));
            line("batch", short_count(Rational(batch.tokens)), text);
        }
        if (!answer_.step) return;
        line("plan", "", plan_text(answer_.plan));
        line("", "", recipe_text(answer_));
        framework();
        if (answer_.model.lora) line("", "", wrapped(trained_text(answer_), 31, 31, max_line_width));
        out_ += "\n";
    }

    void question() {
        const std::int64_t chips = answer_.slice.chips();
        const std::string where =
            fmt::format("{} chip{} of {}", grouped(chips), chips == 1 ? "" : "s", answer_.slice.machine.name);
        page_.title(fmt::format("Training {} on {}", answer_.model.name, slice_id(answer_.slice)));
        page_.question(
            fmt::format("How long does {}, with {} parameters, train on {}, what limits it, and what does "
                        "it cost?",
                        answer_.model.name, short_count(answer_.counts.total.params), where));
        for (const std::string_view key : {"train_s", "usd", "goodput.train_s", "goodput.usd", "step.expected_s",
                                           "step.lower_s", "mfu", "memory_bytes.total"}) {
            PageFact fact = fact_of(train_figures(), key, answer_);
            if (key == "step.expected_s") fact.label = "a step, expected";
            if (key == "step.lower_s") fact.label = "a step, lower bound";
            if (key == "memory_bytes.total") fact.label = "memory of a chip";
            if (key == "train_s") fact.label = "time of the run";
            if (key == "goodput.train_s") fact.label = "with interruptions";
            if (key.ends_with("usd")) {
                if (value_of(train_figures(), key, answer_).is_number()) fact.value += " USD";
                fact.label = key == "usd" ? "cost of the run" : "cost with interruptions";
            }
            if (key == "memory_bytes.total" && answer_.step && answer_.step->memory.capacity) {
                fact.remark = fmt::format("of {}: {}", to_text(Bytes{*answer_.step->memory.capacity}),
                                          answer_.step->memory.fits() ? "fits" : "does not fit");
            }
            if (key == "step.expected_s" && answer_.step && answer_.step->times.expected_error) {
                fact.remark = fmt::format("mean error {} %", percent_text(*answer_.step->times.expected_error));
            }
            page_.headline(std::move(fact));
        }
    }

    void framework() {
        if (!answer_.framework) return;
        const Framework& framework = *answer_.framework;
        line("framework", "",
             framework.by_default
                 ? fmt::format("none is given: times as of {}, memory of tensors alone", framework_text(framework))
                 : framework_text(framework));
    }

    void memory() {
        page_.section(PagePlace::detail, "Memory of a chip");
        const TrainingMemory& memory = answer_.step->memory;
        const double total = memory.total();
        for (const char* part : {"params", "gradients", "optimizer", "activations", "working", "overhead"}) {
            if (part == std::string_view("overhead") && memory.overhead() == 0) continue;
            const std::string key = fmt::format("memory_bytes.{}", part);
            const double share = value_of(train_figures(), key, answer_).get<double>() / total;
            figure(key, fmt::format("{:<30} {:>4.0f} %", bar_of(share), 100 * share),
                   {{}, {}, fmt::format("{:.0f} %", 100 * share), {}, share});
        }
        const std::string& fullest = answer_.step->fullest;
        figure("memory_bytes.total", (fullest.empty() ? "" : "in " + fullest + ", the fullest, ") +
                                         (!memory.capacity ? "the capacity is not known"
                                                           : fmt::format("of {}: {}", to_text(Bytes{*memory.capacity}),
                                                                         memory.fits() ? "fits" : "does not fit")));
        if (answer_.reported_bytes) {
            line(answer_.framework->habits.memory, text("framework.memory_bytes"),
                 fmt::format("as the figures of {} count memory", answer_.framework->name));
        }
        out_ += "\n";
    }

    void step() {
        page_.section(PagePlace::detail, "Time of a step");
        const StepTimes& times = answer_.step->times;
        const Analysis& total = answer_.step->program.analysis.total;
        for (std::size_t i = 0; total.seconds && i < total.pricing.resources.size(); ++i) {
            const Resource& resource = total.pricing.resources[i];
            const double seconds = (*total.seconds)[i];
            const double least = total.least_seconds[i];
            const double share = times.lower > 0 ? least / times.lower : 0;
            line(resource.label, to_text(Seconds{seconds}),
                 fmt::format("{:<30} {:>4} %{}{}", bar_of(share), percent_text(share),
                             &resource == total.bound_resource() ? "   <- the bound" : "",
                             least < seconds ? fmt::format("   {} of it in lower", to_text(Seconds{least})) : ""),
                 {{},
                  {},
                  fmt::format("{} %{}{}", percent_text(share), &resource == total.bound_resource() ? ", the bound" : "",
                              least < seconds ? fmt::format("; {} of it in lower", to_text(Seconds{least})) : ""),
                  exact_number(seconds, "s"),
                  share});
        }
        if (times.bubble > 0) {
            figure("step.bubble",
                   fmt::format("of the no-overlap time of the step, {} idles (pipeline bubble)", answer_.step->stage));
        }
        figure("step.lower_s", "if everything overlaps");
        figure("step.sequential_s", "if only the work inside each kernel overlaps");
        const std::string& why = answer_.step->program.why_not_expected;
        figure("step.expected_s",
               wrapped(times.expected ? error_text(times)
                       : why.empty()  ? fmt::format("no calibration for {}", answer_.slice.machine.name)
                                      : why,
                       31, 31, max_line_width));
        figure("step.upper_s", "without any overlap, at published rates");
        out_ += "\n";
    }

    void collectives() {
        const std::vector<StepCollective> all = step_collectives(*answer_.step);
        if (all.empty()) return;
        Table table;
        table.head = {"collective", "over", "a step", "bytes", "time"};
        table.right = {false, false, true, true, true};
        for (const StepCollective& each : all) {
            TableRow row(table);
            row.text(std::string(collective_name(each.kind, true))).text(fmt::format("{}", fmt::join(each.axes, ", ")));
            row.number(number_text(each.count), each.count);
            row.number(to_text(Bytes{each.bytes}), each.bytes, "B");
            row.number(to_text(Seconds{each.seconds}), each.seconds, "s");
        }
        out_ += table_text(first_rows(table, max_collectives), 2);
        page_.section(PagePlace::detail, "Collectives of a step");
        page_.table(std::move(table));
        if (all.size() > max_collectives) {
            out_ += fmt::format("  ... and {} more (all of them with --json)\n", all.size() - max_collectives);
        }
        out_ += "\n";
    }

    void rates() {
        page_.section(PagePlace::answer, "Speed and cost");
        const TrainingDemand& demand = answer_.demand;
        const char* basis = answer_.assumed_mfu                            ? "as --mfu says"
                            : answer_.step && answer_.step->times.expected ? "by the expected step"
                                                                           : "by the lower bound of the step";
        if (!answer_.mfu || !answer_.tokens_per_s) {
            figure("mfu", "the plan does not fit, so there is no utilization, duration or cost");
            return;
        }
        const auto peak = training_peak(answer_.slice.machine, answer_.products);
        const std::string of = peak && answer_.products ? fmt::format(" in {}", name(peak->dtype)) : "";
        figure("mfu", fmt::format("{}: {} per token, {} per chip{}", basis, to_text(Flops{demand.flops_per_token}),
                                  to_text(FlopRate{demand.peak}), of));
        if (answer_.step_s && answer_.assumed_mfu) figure("step_s", "at that utilization");
        line("tokens", fmt::format("{}/s", many(*answer_.tokens_per_s)),
             fmt::format("{}/s per chip", number_text(*tokens_per_s_per_chip(answer_))),
             {{}, {}, {}, exact_number(*answer_.tokens_per_s, "/s")});
    }

    void cost() {
        if (!answer_.cost) return;
        const TrainingCost& cost = *answer_.cost;
        out_ += "\n";
        figure("train_s",
               fmt::format("for {} tokens, {:.3g} FLOP of the model", short_count(Rational(cost.tokens)), cost.flops));
        further("chip_hours", "chip-hours");
        further("usd", cost.usd ? fmt::format("USD at {} per chip", to_text(*answer_.slice.machine.price))
                                : fmt::format("USD: {} has no list price (--price 2.5)", answer_.slice.machine.name));
        if (answer_.goodput) goodput();
    }

    void goodput() {
        out_ += "\n";
        figure("goodput.fraction",
               fmt::format("of calendar time; checkpoints {}, rework {}, restarts {}", text("goodput.writing"),
                           text("goodput.rework"), text("goodput.restarts")));
        figure("goodput.train_s", fmt::format("with {} interruptions, one every {}", text("goodput.interruptions"),
                                              text("goodput.between_s")));
        further("goodput.chip_hours", "chip-hours");
        if (answer_.cost->usd) further("goodput.usd", "USD");
        figure("goodput.checkpoint_bytes", fmt::format("written in {} after every {} of training",
                                                       text("goodput.checkpoint_s"), text("goodput.interval_s")));
    }

    void verdict() {
        const std::string host = answer_.step ? host_text(answer_.step->times) : "";
        if (binding_limit(answer_).empty() && host.empty() && answer_.thresholds.empty()) return;
        out_ += "\n";
        for (const std::string& text : {binding_limit(answer_), host}) {
            if (!text.empty()) out_ += "  " + wrapped(text, 2, 2, page_width) + "\n";
        }
        page_.section(PagePlace::changes, "Where the limits lie");
        page_.say(host);
        for (const PlanThreshold& each : answer_.thresholds) {
            const std::string text =
                fmt::format("{}: {}; here {}.", each.what, number_text(each.value), number_text(each.now));
            out_ += "  " + wrapped(text, 2, 4, page_width) + "\n";
            page_.say(text);
        }
    }

    const TrainAnswer& answer_;
    std::string out_;
    PageWriter page_;
};

}  // namespace

std::string train_text(const TrainAnswer& answer, bool notes) { return TrainText(answer).run(notes); }

ReportPage train_sections(const TrainAnswer& answer) {
    TrainText text(answer);
    (void)text.run(true);
    return text.page();
}

}  // namespace roofline::core
