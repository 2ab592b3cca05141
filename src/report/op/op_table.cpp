#include "report/op/op_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bound/compute_bound_size.hpp"
#include "predict/expected_basis.hpp"
#include "report/op/op_cells.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::optional<double> bytes_of_level(const Prediction& answer, const std::string& level) {
    const auto traffic = answer.analysis.total.work.memory.find(level);
    if (traffic == answer.analysis.total.work.memory.end()) return std::nullopt;
    const auto bytes = count(answer.program, traffic->second.total());
    return bytes ? std::optional(bytes->to_double()) : std::nullopt;
}

// Returns the bytes, or their formula if sizes are missing.
std::string bytes_text(const Prediction& answer, const std::string& level) {
    const auto traffic = answer.analysis.total.work.memory.find(level);
    if (traffic == answer.analysis.total.work.memory.end()) return "-";
    const Polynomial total = traffic->second.total();
    const auto bytes = count(answer.program, total);
    return bytes ? to_text(Bytes{bytes->to_double()}) : shown(answer, total).to_handwriting(answer.program.dims);
}

// Returns the text of a value, "-" if it is missing.
template <class Q>
std::string text_of(std::optional<double> value) {
    return value ? to_text(Q{*value}) : "-";
}

std::optional<double> when(bool known, double value) { return known ? std::optional(value) : std::nullopt; }

std::string csv_of_machines(const std::vector<Prediction>& answers) {
    Table table;
    const auto levels = all_of(answers, levels_of);
    const auto resources = resources_of(answers);
    table.head.emplace_back("machine");
    for (const std::string& dim : answers.front().program.dims) table.head.push_back(dim);
    table.head.emplace_back("flops");
    for (const std::string& level : levels) table.head.push_back(level + "_bytes");
    for (const std::string& id : resources) table.head.push_back("time_" + id + "_s");
    for (const char* column :
         {"lower_s", "sequential_s", "expected_s", "expected_error", "upper_s", "bound_by", "peak_fraction"})
        table.head.emplace_back(column);
    for (const Prediction& answer : answers) {
        const Analysis& total = answer.analysis.total;
        std::vector<std::string> row{system_id(answer)};
        for (const std::string& dim : answer.program.dims) {
            const auto size = answer.program.sizes.find(dim);
            row.push_back(size == answer.program.sizes.end() ? "" : std::to_string(size->second));
        }
        const auto flops = count(answer.program, total.work.flops());
        row.push_back(raw(flops ? std::optional(flops->to_double()) : std::nullopt));
        for (const std::string& level : levels) row.push_back(raw(bytes_of_level(answer, level)));
        for (const std::string& id : resources) row.push_back(raw(total.seconds_of(id)));
        const bool sized = total.seconds.has_value();
        row.push_back(raw(when(sized, total.bounds.lower)));
        row.push_back(raw(when(sized, total.sequential)));
        row.push_back(raw(fastest(answer).expected_s));
        row.push_back(raw(fastest(answer).expected_error));
        row.push_back(raw(when(sized, total.bounds.upper)));
        row.push_back(total.bound_resource() == nullptr ? "" : total.bound_resource()->id);
        row.push_back(raw(total.peak_fraction));
        table.rows.push_back(std::move(row));
    }
    return table_csv(table);
}

// Returns the first dimension with a size above which compute takes longer than all levels: "B = 128".
std::string critical_text(const Prediction& answer) {
    const Analysis& total = answer.analysis.total;
    for (const CriticalSize& size : compute_bound_sizes(total.critical)) {
        if (size.crossing && size.crossing->state == Crossing::State::crossing) {
            return fmt::format("{} {} {}", size.dim, size.crossing->above ? "=" : "<=", whole_text(*size.crossing));
        }
        if (size.crossing) return size.crossing->state == Crossing::State::always ? "always" : "never";
        return size.limit ? fmt::format("{} -> {}", size.dim, number_text(*size.limit, 4)) : "-";
    }
    return "-";
}

}  // namespace

std::string op_table(const std::vector<Prediction>& answers, Format format) {
    if (format == Format::csv) return csv_of_machines(answers);
    Table table;
    table.head.emplace_back("");
    table.right.push_back(false);
    for (const Prediction& answer : answers) {
        table.head.push_back(system_name(answer));
        table.right.push_back(true);
    }
    const auto row = [&](std::string label, auto&& cell) {
        std::vector<std::string> cells{std::move(label)};
        for (const Prediction& answer : answers) cells.push_back(cell(answer));
        table.rows.push_back(std::move(cells));
    };
    const auto flops_text = [&](const Prediction& answer) {
        const auto flops = count(answer.program, answer.analysis.total.work.flops());
        return flops ? to_text(Flops{flops->to_double()})
                     : shown(answer, answer.analysis.total.work.flops()).to_handwriting(answer.program.dims);
    };
    row("FLOPs", flops_text);
    for (const std::string& level : all_of(answers, levels_of)) {
        row(resource_label(answers, level) + " bytes",
            [&](const Prediction& answer) { return bytes_text(answer, level); });
    }
    for (const std::string& id : resources_of(answers)) {
        row(resource_label(answers, id) + " time",
            [&](const Prediction& answer) { return text_of<Seconds>(answer.analysis.total.seconds_of(id)); });
    }
    const auto bound = [](double Bounds::* member) {
        return [member](const Prediction& answer) {
            const Analysis& total = answer.analysis.total;
            return text_of<Seconds>(when(total.seconds.has_value(), total.bounds.*member));
        };
    };
    row("lower", bound(&Bounds::lower));
    row("expected", [](const Prediction& answer) { return text_of<Seconds>(fastest(answer).expected_s); });
    row("by", [](const Prediction& answer) {
        return answer.expected_s ? expected_software(fastest(answer)) : std::string("-");
    });
    row("mean error", [](const Prediction& answer) {
        return answer.expected_error ? percent_text(*fastest(answer).expected_error) + " %" : std::string("-");
    });
    row("no overlap", bound(&Bounds::upper));
    row("bound by", [](const Prediction& answer) {
        const Resource* resource = answer.analysis.total.bound_resource();
        return resource == nullptr ? std::string("-") : resource->label;
    });
    row("of peak", [](const Prediction& answer) {
        const auto fraction = answer.analysis.total.peak_fraction;
        return fraction ? percent_text(*fraction) + " %" : std::string("-");
    });
    row("compute-bound from", critical_text);
    std::string text = render(table, format);
    return text + notes_text(answers);
}

}  // namespace roofline::core
