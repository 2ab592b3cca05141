#include "report/design/design_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include "report/figure.hpp"
#include "report/op/op_cells.hpp"
#include "report/page/page_writer.hpp"
#include "report/plot/plot.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string usd_cell(double usd) {
    constexpr double grouped_from = 1000;
    return usd >= grouped_from && usd < 1e15 ? grouped(std::llround(usd)) : number_text(usd, 3);
}

std::string time_cell(const DesignTime& time) {
    return time.answer.note.empty() ? in_seconds(time.answer.seconds()) : time.answer.note;
}

class DesignReport {
public:
    DesignReport(const DesignQuestion& question, const DesignAnswer& answer, std::optional<double> took)
        : question_(question), answer_(answer), took_(took) {}

    std::string text(bool markdown) const {
        std::string out;
        const auto add = [&](const std::string& title, const Table& table) {
            out += fmt::format("{}{}\n", out.empty() ? "" : "\n", title);
            out += markdown ? "\n" + table_markdown(table) : table_text(table, 2);
        };
        const std::string price = fmt::format("{} USD per chip by {}", usd_cell(answer_.best.usd), question_.cost.name);
        const std::string of_all = fmt::format("of {:.0f} machine{} like {}", answer_.machines,
                                               answer_.machines == 1 ? "" : "s", question_.base.name);
        add(answer_.met ? fmt::format("the cheapest {} that meets all targets: {}", of_all, price)
                        : fmt::format("none {} meets all targets; the nearest: {}", of_all, price),
            machines_table());
        add("workloads on it", workloads_table());
        if (!answer_.met) add("what would meet a target, all other figures the best of the space", remedies_table());
        add("what one per cent more of a figure costs, and saves of each time", figures_table());
        if (!answer_.front.empty()) add("the cheapest machine at each weighted time", front_table());
        if (markdown) return out;
        std::vector<std::string> notes = all_notes();
        return out + "\n" + notes_once({notes});
    }

    [[nodiscard]] ReportPage page() const {
        PageWriter page;
        page.title(fmt::format("The cheapest machine like {}", question_.base.name));
        page.question(fmt::format("Which of {:.0f} machines meets the targets of {} workloads at the least cost?",
                                  answer_.machines, question_.workloads.size()));
        page.headline({answer_.met ? "meets all targets" : "nearest to all targets",
                       usd_cell(answer_.best.usd) + " USD", "per chip, by " + question_.cost.name,
                       exact_number(answer_.best.usd, "USD")});
        if (std::isfinite(answer_.best.weighted_s)) {
            page.headline(
                {"weighted time", in_seconds(answer_.best.weighted_s), "", exact_number(answer_.best.weighted_s, "s")});
        }
        const auto add = [&](PagePlace place, std::string title, Table table) {
            page.section(place, std::move(title));
            page.table(std::move(table));
        };
        add(PagePlace::answer, answer_.met ? "The cheapest machine" : "The nearest machine", machines_table());
        add(PagePlace::answer, "Workloads on it", workloads_table());
        if (!answer_.met) {
            add(PagePlace::changes, "What would meet a target, all other figures the best of the space",
                remedies_table());
        }
        add(PagePlace::changes, "What one per cent more of a figure costs, and saves of each time", figures_table());
        if (!answer_.front.empty()) {
            add(PagePlace::choice, "The cheapest machine at each weighted time", front_table());
            page.picture(design_picture(question_, answer_));
        }
        for (const std::string& note : all_notes()) page.note(note);
        return page.take();
    }

    [[nodiscard]] std::string csv() const {
        Table table;
        table.head = {"kind"};
        for (const FigureAxis& axis : question_.axes) table.head.push_back(axis.path);
        table.head.insert(table.head.end(), {"usd", "weighted_s"});
        for (const DesignWorkload& workload : question_.workloads) table.head.push_back(workload.name + "_s");
        const auto row = [&](const std::string& kind, const DesignMachine& machine) {
            std::vector<std::string> cells{kind};
            for (std::size_t i = 0; i < machine.at.size(); ++i)
                cells.push_back(raw(question_.axes[i].numbers[machine.at[i]]));
            cells.push_back(raw(machine.usd));
            cells.push_back(std::isfinite(machine.weighted_s) ? raw(machine.weighted_s) : "");
            for (const DesignTime& time : machine.times) {
                cells.push_back(time.answer.note.empty() ? raw(time.answer.seconds()) : "");
            }
            table.rows.push_back(std::move(cells));
        };
        row(answer_.met ? "best" : "nearest", answer_.best);
        for (std::size_t i = 0; i < answer_.alone.size(); ++i) {
            if (answer_.alone[i]) row("alone " + question_.workloads[i].name, *answer_.alone[i]);
        }
        for (const DesignMachine& machine : answer_.front) row("front", machine);
        return table_csv(table);
    }

    [[nodiscard]] FigureValue json() const {
        FigureValue alone = FigureValue::object();
        for (std::size_t i = 0; i < answer_.alone.size(); ++i) {
            alone[question_.workloads[i].name] = answer_.alone[i] ? machine_json(*answer_.alone[i]) : FigureValue();
        }
        FigureValue front = FigureValue::array();
        for (const DesignMachine& machine : answer_.front) front.push_back(machine_json(machine));
        FigureValue percent = FigureValue::object();
        for (std::size_t i = 0; i < question_.axes.size(); ++i) {
            percent[question_.axes[i].path] = answer_.usd_of_percent[i];
        }
        FigureValue axes = FigureValue::array();
        for (const FigureAxis& axis : question_.axes) {
            axes.push_back({{"figure", axis.path}, {"unit", axis.unit}, {"values", axis.numbers}});
        }
        return {{"base", question_.base.id},
                {"cost_model", question_.cost.name},
                {"figures", std::move(axes)},
                {"machines", answer_.machines},
                {"predictions", answer_.predicted},
                {"took_s", figure_value(took_)},
                {"base_usd", figure_value(answer_.base_usd)},
                {"met", answer_.met},
                {"proven", answer_.proven},
                {"unproven", optional_string(answer_.unproven)},
                {"best", answer_.met ? machine_json(answer_.best) : FigureValue()},
                {"nearest", answer_.met ? FigureValue() : machine_json(answer_.best)},
                {"unmet", unmet_json()},
                {"usd_of_percent", std::move(percent)},
                {"alone", std::move(alone)},
                {"front", std::move(front)},
                {"notes", all_notes()}};
    }

private:
    [[nodiscard]] std::vector<std::string> head(const std::string& first) const {
        std::vector<std::string> cells{first};
        for (const FigureAxis& axis : question_.axes) cells.push_back(axis.path);
        cells.emplace_back("USD");
        return cells;
    }

    [[nodiscard]] std::vector<std::string> row(const std::string& first, const DesignMachine& machine) const {
        std::vector<std::string> cells{first};
        cells.insert(cells.end(), machine.texts.begin(), machine.texts.end());
        cells.push_back(usd_cell(machine.usd));
        return cells;
    }

    static void right(Table& table) {
        table.right.assign(table.head.size(), true);
        table.right.front() = false;
    }

    [[nodiscard]] Table machines_table() const {
        Table table;
        table.head = head("");
        table.rows.push_back(row(answer_.met ? "all targets" : "nearest", answer_.best));
        for (std::size_t i = 0; i < answer_.alone.size(); ++i) {
            if (answer_.alone[i]) table.rows.push_back(row(question_.workloads[i].name + " alone", *answer_.alone[i]));
        }
        table.rows.push_back(row(question_.base.id + " as it is", answer_.base));
        table.rows.back().back() = answer_.base_usd ? usd_cell(*answer_.base_usd) : "-";
        right(table);
        return table;
    }

    [[nodiscard]] Table workloads_table() const {
        Table table;
        table.head = {"", "weight", "target", "takes", question_.base.id, "bound by", "plan"};
        for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
            const DesignWorkload& workload = question_.workloads[i];
            const DesignTime& time = answer_.best.times[i];
            table.rows.push_back({workload.name, number_text(workload.weight, 3),
                                  workload.target_s ? in_seconds(*workload.target_s) : "-", time_cell(time),
                                  time_cell(answer_.base.times[i]), time.answer.bound_by, time.plan});
        }
        table.right = {false, true, true, true, true, false, false};
        return table;
    }

    [[nodiscard]] Table remedies_table() const {
        Table table;
        table.head = {"", "target", "takes", "over", "is met with"};
        for (const DesignShortfall& each : answer_.shortfalls) {
            std::string remedies;
            for (const DesignRemedy& remedy : each.remedies) {
                remedies += fmt::format("{}{} of {}", remedies.empty() ? "" : ", or ", question_.axes[remedy.axis].path,
                                        remedy.text);
            }
            if (remedies.empty()) remedies = "no figure alone, up to 16 times as much";
            if (!each.workload) {
                table.rows.push_back({"all targets", "", "", "", std::move(remedies)});
                continue;
            }
            const DesignWorkload& workload = question_.workloads[*each.workload];
            table.rows.push_back({workload.name, workload.target_s ? in_seconds(*workload.target_s) : "-",
                                  time_cell(answer_.best.times[*each.workload]),
                                  workload.target_s && std::isfinite(each.seconds)
                                      ? fmt::format("{:.0f} %", 100 * (each.seconds / *workload.target_s - 1))
                                      : "-",
                                  std::move(remedies)});
        }
        table.right = {false, true, true, true, false};
        return table;
    }

    [[nodiscard]] FigureValue unmet_json() const {
        FigureValue all = FigureValue::array();
        for (const DesignShortfall& each : answer_.shortfalls) {
            FigureValue remedies = FigureValue::object();
            for (const DesignRemedy& remedy : each.remedies) {
                remedies[question_.axes[remedy.axis].path] = remedy.number;
            }
            const DesignWorkload* const workload = each.workload ? &question_.workloads[*each.workload] : nullptr;
            const bool timed = workload != nullptr && std::isfinite(each.seconds);
            all.push_back({{"workload", workload == nullptr ? FigureValue() : FigureValue(workload->name)},
                           {"target_s", workload == nullptr ? FigureValue() : figure_value(workload->target_s)},
                           {"time_s", timed ? FigureValue(each.seconds) : FigureValue()},
                           {"met_with", std::move(remedies)}});
        }
        return all;
    }

    // Per cent of the weighted time for a per cent of a figure.
    [[nodiscard]] double weighted_elasticity(std::size_t axis) const {
        if (!std::isfinite(answer_.best.weighted_s)) return 0;
        double sum = 0;
        for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
            const DesignTime& time = answer_.best.times[i];
            sum += question_.workloads[i].weight * time.answer.seconds() * time.elasticities[axis];
        }
        return sum / answer_.best.weighted_s;
    }

    [[nodiscard]] Table figures_table() const {
        Table table;
        table.head = {"figure", "1 % costs"};
        for (const DesignWorkload& workload : question_.workloads) table.head.push_back(workload.name);
        table.head.emplace_back("weighted");
        table.head.emplace_back("USD per 1 % less");
        for (std::size_t i = 0; i < question_.axes.size(); ++i) {
            const double usd = answer_.usd_of_percent[i];
            const auto saved = [](double elasticity) {
                return fmt::format("{:.2f} %", elasticity == 0 ? 0 : -elasticity);
            };
            std::vector<std::string> cells{question_.axes[i].path, number_text(usd, 3) + " USD"};
            for (const DesignTime& time : answer_.best.times) cells.push_back(saved(time.elasticities[i]));
            const double weighted = weighted_elasticity(i);
            cells.push_back(saved(weighted));
            cells.push_back(weighted < -5e-4 ? number_text(usd / -weighted, 3) : "-");
            table.rows.push_back(std::move(cells));
        }
        right(table);
        return table;
    }

    [[nodiscard]] Table front_table() const {
        Table table;
        table.head = head("weighted");
        for (const DesignWorkload& workload : question_.workloads) table.head.push_back(workload.name);
        for (const DesignMachine& machine : answer_.front) {
            table.rows.push_back(row(in_seconds(machine.weighted_s), machine));
            for (const DesignTime& time : machine.times) table.rows.back().push_back(time_cell(time));
        }
        right(table);
        return table;
    }

    [[nodiscard]] FigureValue machine_json(const DesignMachine& machine) const {
        FigureValue figures = FigureValue::object();
        for (std::size_t i = 0; i < machine.at.size(); ++i) {
            figures[question_.axes[i].path] = question_.axes[i].numbers[machine.at[i]];
        }
        FigureValue times = FigureValue::array();
        for (std::size_t i = 0; i < machine.times.size(); ++i) {
            const DesignTime& time = machine.times[i];
            FigureValue elasticities = FigureValue::object();
            for (std::size_t j = 0; j < time.elasticities.size(); ++j) {
                elasticities[question_.axes[j].path] = time.elasticities[j];
            }
            times.push_back({{"workload", question_.workloads[i].name},
                             {"lower_s", time.answer.lower_s},
                             {"expected_s", figure_value(time.answer.expected_s)},
                             {"bound_by", optional_string(time.answer.bound_by)},
                             {"plan", optional_string(time.plan)},
                             {"note", optional_string(time.answer.note)},
                             {"elasticities", std::move(elasticities)}});
        }
        return {{"figures", std::move(figures)},
                {"usd", machine.usd},
                {"weighted_s", std::isfinite(machine.weighted_s) ? FigureValue(machine.weighted_s) : FigureValue()},
                {"times", std::move(times)}};
    }

    [[nodiscard]] std::vector<std::string> all_notes() const {
        std::vector<std::string> notes;
        bool expected = false;
        bool lower = false;
        for (const DesignTime& time : answer_.best.times) (time.answer.expected_s ? expected : lower) = true;
        if (expected) {
            notes.push_back(
                fmt::format("times are expected times of {} with its figures set: what its kernels and collectives "
                            "reach of a figure "
                            "stays the same share; a machine that does not exist has no measurements",
                            question_.base.name));
        }
        if (lower) notes.emplace_back("times without a calibration are lower bounds");
        notes.push_back(fmt::format(
            "plans are those of `mesh`, or the best at {} and at the two ends of the space; the fastest of them that "
            "fits is used on each machine",
            question_.base.name));
        for (const std::string& path : question_.cost.absent) {
            notes.push_back(fmt::format("{} has no {}, so that its cost is left out", question_.base.name, path));
        }
        if (!answer_.proven) notes.push_back("not proven: " + answer_.unproven);
        notes.insert(notes.end(), answer_.notes.begin(), answer_.notes.end());
        return notes;
    }

    const DesignQuestion& question_;
    const DesignAnswer& answer_;
    std::optional<double> took_;
};

}  // namespace

std::string design_text(const DesignQuestion& question, const DesignAnswer& answer, std::optional<double> took,
                        Format format) {
    const DesignReport report(question, answer, took);
    if (format == Format::json) return dumped({{"schema", 1}, {"design", report.json()}}) + "\n";
    if (format == Format::csv) return report.csv();
    return report.text(format == Format::markdown);
}

ReportPage design_page(const DesignQuestion& question, const DesignAnswer& answer) {
    return DesignReport(question, answer, std::nullopt).page();
}

std::string design_picture(const DesignQuestion& question, const DesignAnswer& answer) {
    SweepPlot plot;
    plot.title = fmt::format("Machines like {}: cost against time", question.base.name);
    plot.subtitle = fmt::format("{} workloads, costs by {}", question.workloads.size(), question.cost.name);
    plot.x_label = "weighted time (ms)";
    plot.y_label = "USD per chip";
    plot.y_unit = "USD";
    PlotCurve curve;
    curve.label = "front";
    curve.family = "front";
    constexpr double ms = 1e3;
    for (const auto& machine : std::views::reverse(answer.front)) {
        curve.points.emplace_back(machine.weighted_s * ms, machine.usd);
    }
    plot.log_x = curve.points.size() > 1 && curve.points.back().first > 10 * curve.points.front().first;
    plot.curves.push_back(std::move(curve));
    PlotCurve best;
    best.label = answer.met ? "meets all targets" : "nearest to all targets";
    best.family = best.label;
    best.line = PlotLine::none;
    best.points = {{answer.best.weighted_s * ms, answer.best.usd}};
    plot.curves.push_back(std::move(best));
    return to_svg(plot);
}

}  // namespace roofline::core
