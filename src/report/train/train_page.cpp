#include "report/train/train_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "report/figure.hpp"
#include "report/op/op_page.hpp"
#include "report/op/op_timeline.hpp"
#include "report/plot/shares.hpp"
#include "report/train/step_expectation.hpp"
#include "report/train/train_figures.hpp"
#include "report/train/train_text.hpp"
#include "report/train/train_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// The memory of the fullest chip by kind, as a picture.
std::string memory_picture(const TrainAnswer& answer) {
    const TrainingMemory& memory = answer.step->memory;
    SharesBar bar{"a chip", in_bytes(memory.total()), {}};
    const std::pair<const char*, double> pieces[] = {
        {"params", memory.params},           {"gradients", memory.gradients}, {"optimizer", memory.optimizer},
        {"activations", memory.activations}, {"working", memory.working},     {"allocator", memory.overhead()}};
    for (const auto& [label, bytes] : pieces) bar.pieces.push_back({label, bytes, in_bytes(bytes)});
    std::string subtitle = plan_text(answer.plan);
    if (memory.capacity) {
        subtitle +=
            fmt::format(": {:.0f} % of {}", 100 * memory.total() / *memory.capacity, in_bytes(*memory.capacity));
    }
    return to_svg(SharesPlot{"Memory of a chip", std::move(subtitle), {std::move(bar)}});
}

// The plans that a search found beside the one that is shown.
void add_search(PageWriter& page, const TrainSearch& search) {
    Table table;
    table.head = {"step", "memory", "plan", "recipe"};
    table.right = {true, true, false, false};
    for (const TrainAnswer& plan : search.plans) {
        TableRow row(table);
        row.number(in_seconds(step_seconds(plan)), step_seconds(plan), "s");
        row.number(in_bytes(plan.step->memory.total()), plan.step->memory.total(), "B");
        row.text(plan_text(plan.plan)).text(recipe_text(plan));
    }
    page.section(PagePlace::choice, "The best plans with different degrees");
    page.table(std::move(table));
}

}  // namespace

void add_training(PageWriter& page, const TrainAnswer& answer) {
    ReportPage sections = train_sections(answer);
    page.title(sections.title);
    page.question(sections.question);
    page.add(std::move(sections));
    if (answer.step) {
        const Prediction& program = answer.step->program;
        const StepTimes& times = answer.step->times;
        page.section(PagePlace::detail, "Pictures of memory and time");
        page.picture(memory_picture(answer));
        page.picture(op_timeline(program, PipelineTotals{times.sequential, times.lower}));
        if (const std::vector<std::string> sentences = step_sentences(times); !sentences.empty()) {
            page.section(PagePlace::derivation, "Expected time of a step");
            std::vector<PageLine> lines;
            for (const std::string& sentence : sentences) lines.push_back({1, sentence});
            page.lines(std::move(lines));
        }
    }
    PageSources sources;
    sources.add_memory(answer.slice.machine);
    sources.add_price(answer.slice.machine);
    if (answer.step) {
        add_derivation(page, answer.step->program, "Derivation of the bounds", std::move(sources));
    } else {
        sources.write(page);
    }
    if (answer.search && answer.search->plans.size() > 1) add_search(page, *answer.search);
    if (answer.emitted) {
        page.section(PagePlace::answer, "Launch");
        page.code(answer.emitted->text);
    }
}

ReportPage train_page(const std::vector<TrainAnswer>& answers) {
    PageWriter page;
    if (answers.size() == 1) {
        add_training(page, answers.front());
        return page.take();
    }
    std::vector<std::string> slices;
    for (const TrainAnswer& answer : answers) slices.push_back(slice_id(answer.slice));
    const std::string& model = answers.front().model.name;
    page.title(fmt::format("Training {} on {} slices", model, answers.size()));
    page.question(fmt::format("Which of {} trains {} faster or cheaper, and why?", fmt::join(slices, ", "), model));
    page.section(PagePlace::answer, "Side by side");
    page.say(train_heading(answers.front()) + ".");
    page.table(train_comparison(answers));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        PageWriter one;
        add_training(one, answers[i]);
        page.add(one.take(), slices[i]);
    }
    return page.take();
}

}  // namespace roofline::core
