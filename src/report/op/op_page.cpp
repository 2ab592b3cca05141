#include "report/op/op_page.hpp"

#include <fmt/format.h>

#include <utility>

#include "report/op/explain.hpp"
#include "report/op/op_cells.hpp"
#include "report/op/op_plot.hpp"
#include "report/op/op_table.hpp"
#include "report/op/op_text.hpp"
#include "report/op/sweep_table.hpp"

namespace roofline::core {

namespace {

void picture(PageWriter& page, std::span<const Prediction> answers, const std::vector<SweepAxis>& axes, PlotKind kind) {
    // What cannot be drawn, without sizes or with too many curves, is left out.
    if (auto svg = op_plot(answers, axes, kind)) page.picture(std::move(*svg));
}

ReportPage page_of_one(const Prediction& answer) {
    PageWriter page;
    ReportPage sections = op_sections(answer);
    page.title(sections.title);
    page.question(sections.question);
    page.add(std::move(sections));
    page.section(PagePlace::answer, "Roofline");
    picture(page, {&answer, 1}, {}, PlotKind::roofline);
    if (!answer.system.mesh.empty()) {
        page.section(PagePlace::detail, "Mesh");
        picture(page, {&answer, 1}, {}, PlotKind::mesh);
    }
    if (!answer.analysis.kernels.empty()) {
        page.section(PagePlace::detail, "Time line");
        picture(page, {&answer, 1}, {}, PlotKind::timeline);
    }
    add_derivation(page, answer, "Derivation");
    return page.take();
}

void add_notes(PageWriter& page, const std::vector<Prediction>& answers) {
    for (const Prediction& answer : answers) {
        for (const std::string& note : notes_of(answer)) page.note(note);
    }
}

std::string what_of(const Prediction& answer) {
    return answer.name.empty() ? plot_title(answer) : fmt::format("{}: {}", answer.name, plot_title(answer));
}

ReportPage page_of_several(const std::vector<Prediction>& answers) {
    PageWriter page;
    std::vector<std::string> names;
    for (const Prediction& answer : answers) names.push_back(system_name(answer));
    page.title(what_of(answers.front()));
    page.question(fmt::format("How long does this take on each of {}, and what limits it?", fmt::join(names, ", ")));
    page.section(PagePlace::answer, "Side by side");
    page.table(op_comparison(answers));
    for (std::size_t i = 0; i < answers.size(); ++i) page.add(page_of_one(answers[i]), names[i]);
    return page.take();
}

ReportPage page_of_sweep(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes) {
    PageWriter page;
    const Prediction& first = answers.front();
    page.title(what_of(first));
    const std::string on = answers.size() == 1 ? system_name(first) : fmt::format("{} machines", answers.size());
    std::vector<std::string> swept;
    for (const SweepAxis& axis : axes) swept.push_back(fmt::format("{}", fmt::join(axis.dims, " = ")));
    page.question(fmt::format("How do time and bottleneck on {} change with {}?", on, fmt::join(swept, " and ")));
    page.section(PagePlace::answer, "Attainable and expected FLOP/s");
    picture(page, answers, axes, PlotKind::sweep);
    page.section(PagePlace::answer, "Points");
    page.table(sweep_points(answers, axes));
    for (const Prediction& answer : answers) {
        page.section(PagePlace::detail, fmt::format("Roofline of {}", system_name(answer)));
        picture(page, {&answer, 1}, axes, PlotKind::roofline);
    }
    PageSources sources;
    for (const Prediction& answer : answers) sources.add(answer);
    if (answers.size() == 1) {
        add_measurements(page, first);
        sources.write(page);
    }
    add_notes(page, answers);
    return page.take();
}

}  // namespace

void add_derivation(PageWriter& page, const Prediction& answer, const std::string& title, PageSources sources) {
    page.section(PagePlace::derivation, title);
    page.lines(explain_lines(answer));
    add_measurements(page, answer);
    sources.add(answer);
    sources.write(page);
}

ReportPage op_page(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes) {
    if (!axes.empty()) return page_of_sweep(answers, axes);
    return answers.size() == 1 ? page_of_one(answers.front()) : page_of_several(answers);
}

}  // namespace roofline::core
