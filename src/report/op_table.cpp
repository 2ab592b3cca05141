#include "report/op_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

std::string render(const Table& table, Format format) {
    if (format == Format::csv) return table_csv(table);
    return format == Format::markdown ? table_markdown(table) : table_text(table, 2);
}

// A number to full precision for programs, "" when there is none.
std::string raw(std::optional<double> value) { return value ? fmt::format("{}", *value) : std::string(); }

// What all answers have, in order of first appearance.
template <class Pick>
std::vector<std::string> all_of(const std::vector<OpAnswer>& answers, Pick pick) {
    std::vector<std::string> names;
    for (const OpAnswer& answer : answers) {
        for (const std::string& name : pick(answer)) {
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
    }
    return names;
}

std::vector<std::string> levels_of(const OpAnswer& answer) {
    std::vector<std::string> levels;
    for (const auto& entry : answer.analysis.total.work.memory) levels.push_back(entry.first);
    return levels;
}

std::vector<std::string> resources_of(const OpAnswer& answer) {
    std::vector<std::string> ids;
    for (const Resource& resource : answer.analysis.total.pricing.resources) ids.push_back(resource.id);
    return ids;
}

std::optional<double> time_of(const Analysis& analysis, const std::string& id) {
    if (!analysis.seconds) return std::nullopt;
    for (std::size_t i = 0; i < analysis.pricing.resources.size(); ++i) {
        if (analysis.pricing.resources[i].id == id) return (*analysis.seconds)[i];
    }
    return std::nullopt;
}

std::optional<double> bytes_of_level(const OpAnswer& answer, const std::string& level) {
    const auto traffic = answer.analysis.total.work.memory.find(level);
    if (traffic == answer.analysis.total.work.memory.end()) return std::nullopt;
    const auto bytes = count(answer.program, traffic->second.total());
    return bytes ? std::optional(bytes->to_double()) : std::nullopt;
}

// "" when the value is missing, else its text.
template <class Q>
std::string text_of(std::optional<double> value) {
    return value ? to_text(Q{*value}) : "-";
}

std::optional<double> when(bool known, double value) { return known ? std::optional(value) : std::nullopt; }

std::string csv_of_machines(const std::vector<OpAnswer>& answers) {
    Table table;
    const auto levels = all_of(answers, levels_of);
    const auto resources = all_of(answers, resources_of);
    table.head.emplace_back("machine");
    for (const std::string& dim : answers.front().program.dims) table.head.push_back(dim);
    table.head.emplace_back("flops");
    for (const std::string& level : levels) table.head.push_back(level + "_bytes");
    for (const std::string& id : resources) table.head.push_back("time_" + id + "_s");
    for (const char* column : {"lower_s", "sequential_s", "upper_s", "bound_by", "peak_fraction"})
        table.head.emplace_back(column);
    for (const OpAnswer& answer : answers) {
        const Analysis& total = answer.analysis.total;
        std::vector<std::string> row{answer.machine.id};
        for (const std::string& dim : answer.program.dims) {
            const auto size = answer.program.sizes.find(dim);
            row.push_back(size == answer.program.sizes.end() ? "" : std::to_string(size->second));
        }
        const auto flops = count(answer.program, total.work.flops());
        row.push_back(raw(flops ? std::optional(flops->to_double()) : std::nullopt));
        for (const std::string& level : levels) row.push_back(raw(bytes_of_level(answer, level)));
        for (const std::string& id : resources) row.push_back(raw(time_of(total, id)));
        const bool sized = total.seconds.has_value();
        row.push_back(raw(when(sized, total.bounds.lower)));
        row.push_back(raw(when(sized, total.sequential)));
        row.push_back(raw(when(sized, total.bounds.upper)));
        row.push_back(total.bound_resource() == nullptr ? "" : total.bound_resource()->id);
        row.push_back(raw(total.peak_fraction));
        table.rows.push_back(std::move(row));
    }
    return table_csv(table);
}

// The critical size of the first dimension that has one at the main level, as "B = 128".
std::string critical_text(const OpAnswer& answer) {
    const Analysis& total = answer.analysis.total;
    for (const CriticalSize& size : total.critical) {
        if (size.level != total.main_level) continue;
        if (size.crossing && size.crossing->state == Crossing::State::crossing) {
            return fmt::format("{} {} {}", size.dim,
                               size.crossing->above ? "=" : "<=", number_text(*size.crossing->root, 4));
        }
        if (size.crossing) return size.crossing->state == Crossing::State::always ? "always" : "never";
        return size.limit ? fmt::format("{} -> {}", size.dim, number_text(*size.limit, 4)) : "-";
    }
    return "-";
}

// Notes below a table; what is said of every machine is said once.
std::string notes_text(const std::vector<OpAnswer>& answers) {
    std::map<std::string, std::vector<std::string>> machines;
    std::vector<std::string> order;
    for (const OpAnswer& answer : answers) {
        for (const std::string& note : notes_of(answer)) {
            std::vector<std::string>& said_of = machines[note];
            if (said_of.empty()) order.push_back(note);
            said_of.push_back(answer.machine.name);
        }
    }
    std::string text;
    for (const std::string& note : order) {
        const std::vector<std::string>& said_of = machines[note];
        const std::string who = said_of.size() == answers.size() ? "note" : fmt::format("{}", fmt::join(said_of, ", "));
        text += "\n  " + wrapped(fmt::format("{}: {}", who, note), 2, 8, 100);
    }
    return text.empty() ? text : text + "\n";
}

}  // namespace

std::string op_table(const std::vector<OpAnswer>& answers, Format format) {
    if (format == Format::csv) return csv_of_machines(answers);
    Table table;
    table.head.emplace_back("");
    table.right.push_back(false);
    for (const OpAnswer& answer : answers) {
        table.head.push_back(answer.machine.name);
        table.right.push_back(true);
    }
    const auto row = [&](std::string label, auto&& cell) {
        std::vector<std::string> cells{std::move(label)};
        for (const OpAnswer& answer : answers) cells.push_back(cell(answer));
        table.rows.push_back(std::move(cells));
    };
    const auto flops_text = [&](const OpAnswer& answer) {
        const auto flops = count(answer.program, answer.analysis.total.work.flops());
        return flops ? to_text(Flops{flops->to_double()})
                     : shown(answer.program, answer.analysis.total.work.flops()).to_handwriting(answer.program.dims);
    };
    row("FLOPs", flops_text);
    for (const std::string& level : all_of(answers, levels_of)) {
        row(level_label(level) + " bytes",
            [&](const OpAnswer& answer) { return text_of<Bytes>(bytes_of_level(answer, level)); });
    }
    for (const std::string& id : all_of(answers, resources_of)) {
        row((id == "math" || id == "vector" ? id : level_label(id)) + " time",
            [&](const OpAnswer& answer) { return text_of<Seconds>(time_of(answer.analysis.total, id)); });
    }
    const auto bound = [](double Bounds::* member) {
        return [member](const OpAnswer& answer) {
            const Analysis& total = answer.analysis.total;
            return text_of<Seconds>(when(total.seconds.has_value(), total.bounds.*member));
        };
    };
    row("lower", bound(&Bounds::lower));
    row("expected", [](const OpAnswer&) { return std::string("-"); });
    row("upper", bound(&Bounds::upper));
    row("bound by", [](const OpAnswer& answer) {
        const Resource* resource = answer.analysis.total.bound_resource();
        return resource == nullptr ? std::string("-") : resource->label;
    });
    row("of peak", [](const OpAnswer& answer) {
        const auto fraction = answer.analysis.total.peak_fraction;
        return fraction ? fmt::format("{:.0f} %", *fraction * 100) : std::string("-");
    });
    row("compute-bound from", critical_text);
    std::string text = render(table, format);
    return text + notes_text(answers);
}

std::string sweep_table(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes, Format format) {
    const bool raw_numbers = format == Format::csv;
    const auto resources = all_of(answers, resources_of);
    Table table;
    const auto column = [&](std::string name, bool right) {
        table.head.push_back(std::move(name));
        table.right.push_back(right);
    };
    if (answers.size() > 1 || raw_numbers) column("machine", false);
    for (const SweepAxis& axis : axes) {
        for (const std::string& dim : axis.dims) column(dim, true);
    }
    column(raw_numbers ? "flops" : "FLOPs", true);
    column(raw_numbers ? "flop_per_byte" : "FLOP/B", true);
    for (const std::string& id : resources) {
        column(raw_numbers ? "time_" + id + "_s" : id == "math" || id == "vector" ? id : level_label(id), true);
    }
    column(raw_numbers ? "lower_s" : "lower", true);
    column(raw_numbers ? "upper_s" : "upper", true);
    column(raw_numbers ? "bound_by" : "bound by", false);
    column(raw_numbers ? "flop_per_s" : "FLOP/s", true);
    column(raw_numbers ? "peak_fraction" : "of peak", true);

    std::size_t points = 1;
    for (const SweepAxis& axis : axes) points *= axis.sizes.size();
    constexpr std::size_t most_rows = 40;
    const std::size_t stride = format == Format::text && points > most_rows ? (points + most_rows - 1) / most_rows : 1;
    for (const OpAnswer& answer : answers) {
        const Analysis& total = answer.analysis.total;
        const Resource* compute = total.pricing.compute();
        const auto ids = resources_of(answer);
        const auto levels = levels_of(answer);
        const auto main =
            static_cast<std::size_t>(std::find(levels.begin(), levels.end(), total.main_level) - levels.begin());
        std::size_t index = 0;
        for_each_point(
            answer.program, answer.analysis, axes,
            [&](std::span<const std::int64_t> sizes, const CompiledProgram::Point& point) {
                const bool last = ++index == points;
                if ((index - 1) % stride != 0 && !last) return;
                std::vector<std::string> row;
                if (answers.size() > 1 || raw_numbers)
                    row.push_back(raw_numbers ? answer.machine.id : answer.machine.name);
                for (std::size_t i = 0; i < axes.size(); ++i)
                    row.insert(row.end(), axes[i].dims.size(), std::to_string(sizes[i]));
                double flops = 0;
                for (const double term : point.term_flops) flops += term;
                const double bytes = main < levels.size() ? point.read[main] + point.write[main] : 0;
                row.push_back(raw_numbers ? raw(flops) : to_text(Flops{flops}));
                row.push_back(bytes <= 0 ? "" : raw_numbers ? raw(flops / bytes) : number_text(flops / bytes));
                const auto time = [&](double seconds) {
                    return raw_numbers ? raw(seconds) : to_text(Seconds{seconds});
                };
                for (const std::string& id : resources) {
                    const auto place = std::find(ids.begin(), ids.end(), id);
                    row.push_back(
                        place == ids.end() ? "" : time(point.seconds[static_cast<std::size_t>(place - ids.begin())]));
                }
                row.push_back(time(point.bounds.lower));
                row.push_back(time(point.bounds.upper));
                const Resource* bound =
                    point.bounds.bound_by ? &total.pricing.resources[*point.bounds.bound_by] : nullptr;
                row.push_back(bound == nullptr ? "" : raw_numbers ? bound->id : bound->label);
                const double rate = point.bounds.lower > 0 ? flops / point.bounds.lower : 0;
                row.push_back(raw_numbers ? raw(rate) : to_text(FlopRate{rate}));
                if (compute != nullptr && point.bounds.lower > 0) {
                    const double fraction =
                        point.seconds[static_cast<std::size_t>(compute - total.pricing.resources.data())] /
                        point.bounds.lower;
                    row.push_back(raw_numbers ? raw(fraction) : fmt::format("{:.0f} %", fraction * 100));
                }
                table.rows.push_back(std::move(row));
            });
    }
    std::string text = render(table, format);
    if (format == Format::text) {
        if (stride > 1)
            text += fmt::format("\n  {} points, every {} shown; all of them with --csv or --json\n", points, stride);
        text += notes_text(answers);
    }
    return text;
}

}  // namespace roofline
