#include "report/machine/machine_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/machine/machine_json.hpp"
#include "report/machine/machine_rows.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string printed(const Table& table, Format format) {
    if (format == Format::csv) return table_csv(table);
    return format == Format::markdown ? table_markdown(table) : table_text(table);
}

// --- list of machines

constexpr std::string_view list_legend =
    "bf16: dense matmul FLOP/s (* no bf16 matrix units: rate used instead). ridge: FLOP per byte of\n"
    "HBM traffic. ? low-confidence value. `roofline machine NAME` shows the source of each value.\n";

struct ListRow {
    std::string bf16;
    std::string ridge;
};

ListRow list_rates(const Machine& machine, const MemoryLevel* hbm, bool exact) {
    const auto bf16 = assign(machine, Unit::matmul, Dtype::bf16);
    if (!bf16) return {};
    const FlopRate rate = *bf16->peak->rate.value;
    const bool weak = bf16->peak->rate.low_confidence();
    ListRow row;
    std::string text = to_text(rate);
    text.erase(std::min(text.find("FLOP/s"), text.size()));  // the legend states the unit
    row.bf16 = exact ? exact_text(rate.value) : text + (bf16->stands_in ? "*" : "") + (weak ? "?" : "");
    if (hbm != nullptr && hbm->bandwidth.value) {
        const double ridge = (rate / *hbm->bandwidth.value).value;
        const bool weak_ridge = weak || hbm->bandwidth.low_confidence();
        row.ridge = exact ? exact_text(ridge) : number_text(ridge) + (weak_ridge ? "?" : "");
    }
    return row;
}

Table list_table(const std::vector<Machine>& machines, bool exact) {
    Table table;
    table.head = exact ? std::vector<std::string>{"machine",
                                                  "name",
                                                  "year",
                                                  "bf16_flops_per_s",
                                                  "hbm_bytes",
                                                  "hbm_bytes_per_s",
                                                  "ridge_flops_per_byte",
                                                  "power_w"}
                       : std::vector<std::string>{"id", "name", "year", "bf16", "HBM", "bandwidth", "ridge", "power"};
    table.right = {false, false, true, true, true, true, true, true};
    for (const Machine& machine : machines) {
        const MemoryLevel* hbm = machine.level("hbm");
        const ListRow rates = list_rates(machine, hbm, exact);
        const auto show = [&](const auto& figure, auto text) {
            if (!figure.value) return std::string();
            return exact ? exact_text(figure.value->value) : text(*figure.value) + (figure.low_confidence() ? "?" : "");
        };
        const Figure<Bytes> capacity = hbm != nullptr ? hbm->capacity : Figure<Bytes>{};
        const Figure<Bandwidth> bandwidth = hbm != nullptr ? hbm->bandwidth : Figure<Bandwidth>{};
        std::vector<std::string> row{machine.id,
                                     machine.name,
                                     machine.year > 0 ? std::to_string(machine.year) : "",
                                     rates.bf16,
                                     show(capacity, [](Bytes b) { return capacity_text(b); }),
                                     show(bandwidth, [](Bandwidth b) { return to_text(b); }),
                                     rates.ridge,
                                     show(machine.power, [](Power p) { return to_text(p); })};
        if (!exact) std::transform(row.begin(), row.end(), row.begin(), or_dash);
        table.rows.push_back(std::move(row));
    }
    return table;
}

/// Lets the column of names be cut if the table is too wide; the id in the next column identifies the machine.
void narrow_names(Table& table) {
    std::size_t widest = 0;
    const std::string text = table_text(table);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        widest = std::max(widest, display_width(std::string_view(text).substr(at, end - at)));
        at = end + 1;
    }
    if (widest <= page_width) return;
    std::size_t names = 0;
    for (const auto& row : table.rows) names = std::max(names, display_width(row[1]));
    const std::size_t room = std::max<std::size_t>(names - std::min(names, widest - page_width), 10);
    for (auto& row : table.rows) row[1] = fitted(row[1], room);
    for (auto& row : table.rows) row[0] = fitted(row[0], 24);
}

// --- one machine

std::string identity(const Machine& machine) {
    std::string text = fmt::format("id {}", machine.id);
    for (const std::string& part : {machine.vendor, machine.kind}) {
        if (!part.empty()) text += ", " + part;
    }
    if (machine.year > 0) text += fmt::format(", {}", machine.year);
    if (!machine.aliases.empty()) text += fmt::format("; also {}", fmt::join(machine.aliases, ", "));
    return text;
}

std::string build_text(const Machine& machine) {
    std::string text;
    if (machine.cores > 0)
        text = fmt::format("{}: {}.", machine.cores_label.empty() ? "cores" : machine.cores_label, machine.cores);
    if (machine.matrix_unit) {
        text += fmt::format("{}Matrix units of {} x {}", text.empty() ? "" : " ", machine.matrix_unit->side,
                            machine.matrix_unit->side);
        if (machine.matrix_unit->count_per_core > 0)
            text += fmt::format(", {} a core", machine.matrix_unit->count_per_core);
        text += ".";
    }
    if (!machine.notes.empty()) text += (text.empty() ? "" : " ") + machine.notes;
    return text;
}

std::string tier_text(const NetworkTier& tier) {
    std::string text = fmt::format("{} ({}): {}", tier.id, tier.label, tier.topology);
    if (tier.domain > 1) text += fmt::format(", {} chips", tier.domain);
    if (tier.links > 0) text += fmt::format(", {} links per chip", tier.links);
    if (tier.in_network_reduction) text += ", reduces in the network";
    if (tier.leaf > 0) {
        text += fmt::format(", leaves of {} chips, {}:{} oversubscribed", tier.leaf,
                            static_cast<std::int64_t>(tier.oversubscription.numerator()),
                            static_cast<std::int64_t>(tier.oversubscription.denominator()));
        if (tier.rails > 1) text += fmt::format(", {} rails", tier.rails);
    }
    if (!tier.pod_shape.empty()) text += fmt::format(", pod {}", shape_text(tier.pod_shape));
    if (!tier.host_shape.empty()) text += fmt::format(", hosts of {}", shape_text(tier.host_shape));
    if (!tier.max_job.empty()) text += fmt::format(", largest job {}", shape_text(tier.max_job));
    if (!tier.wrap_rule.empty()) text += "; " + tier.wrap_rule;
    if (!tier.note.empty()) text += "; " + tier.note;
    return text;
}

std::string pod_text(const PodTotal& pod) {
    std::string text = fmt::format("{} chips", grouped(pod.chips));
    if (!pod.shape.empty()) text += fmt::format(" ({})", shape_text(pod.shape));
    if (pod.hosts) text += fmt::format(", {} hosts", grouped(*pod.hosts));
    if (pod.cores) text += fmt::format(", {} cores", grouped(*pod.cores));
    if (pod.bf16) text += fmt::format(", {} bf16", to_text(*pod.bf16));
    if (pod.memory) text += fmt::format(", {} HBM", capacity_text(*pod.memory));
    if (pod.power) text += fmt::format(", {}", to_text(*pod.power));
    return text;
}

std::string price_text(const PriceQuote& quote) {
    std::string text = number_text(quote.usd_per_chip_hour.front(), 4);
    if (quote.usd_per_chip_hour.size() > 1) text += " to " + number_text(quote.usd_per_chip_hour.back(), 4);
    text += " USD/h";
    for (const std::string& part : {quote.kind, quote.date}) {
        if (!part.empty()) text += ", " + part;
    }
    return fmt::format("{} [{}; {}]", text, quote.source, quote.confidence);
}

/// One row per dtype, one column per level.
Table ridge_table(const Machine& machine) {
    Table table;
    table.head = {"ridge, FLOP/B"};
    table.right = {false};
    const std::vector<RidgePoint> points = ridge_points(machine);
    for (const RidgePoint& point : points) {
        if (std::find(table.head.begin(), table.head.end(), point.level) == table.head.end()) {
            table.head.push_back(point.level);
            table.right.push_back(true);
        }
    }
    for (const RidgePoint& point : points) {
        if (table.rows.empty() || table.rows.back().front() != name(point.dtype)) {
            table.rows.push_back({std::string(name(point.dtype))});
        }
        table.rows.back().push_back(number_text(point.flops_per_byte) + (point.low_confidence ? "?" : ""));
    }
    return table;
}

std::string other_text(const std::pair<DisplayValue, Alternative>& other) {
    const auto& [value, alternative] = other;
    return fmt::format("others: {} [{}]{}{}", value.text, alternative.source, alternative.note.empty() ? "" : " ",
                       alternative.note);
}

std::string figure_text(const FigureRow& row, std::size_t labels, std::size_t values) {
    const std::size_t indent = 2 + labels + 2 + values + 2;
    const std::string padding(labels - display_width(row.label) + values - display_width(or_dash(row.value.text)), ' ');
    std::string line = fmt::format("  {}{}  {}  ", row.label, padding, or_dash(row.value.text));
    const auto more = [&](const std::string& text) {
        line += std::string(indent, ' ') + wrapped(text, indent, indent + 2, page_width) + "\n";
    };
    if (row.value.text.empty()) {
        return line + wrapped(row.note.empty() ? "not known" : row.note, indent, indent, page_width) + "\n";
    }
    const std::string head = row.what_if ? "what-if    " : fmt::format("{:8} {}  ", name(row.basis), row.confidence);
    line += head + wrapped(row.source, indent + head.size(), indent + head.size(), page_width) + "\n";
    if (!row.note.empty()) more(row.note);
    for (const auto& other : row.alternatives) more(other_text(other));
    return line;
}

std::string figures_text(const std::vector<FigureRow>& rows) {
    std::size_t labels = 0;
    std::size_t values = 0;
    for (const FigureRow& row : rows) {
        labels = std::max(labels, display_width(row.label));
        values = std::max(values, display_width(row.value.text));
    }
    labels = std::min<std::size_t>(labels, 40);
    std::string text;
    std::string group;
    for (FigureRow row : rows) {
        if (row.group != group) {
            group = row.group;
            text += fmt::format("\n{}{}\n", group, group == "matmul" || group == "vector" ? ", dense peaks" : "");
        }
        row.label = fitted(row.label, labels);
        text += figure_text(row, labels, values);
    }
    return text;
}

std::string show_text(const Machine& machine) {
    const auto paragraph = [](const std::string& text, std::size_t indent = 2) {
        return std::string(indent, ' ') + wrapped(text, indent, indent + 2, page_width) + "\n";
    };
    std::string text = fmt::format("{}\n", fitted(machine.name, page_width)) + paragraph(identity(machine));
    if (const std::string build = build_text(machine); !build.empty()) text += paragraph(build);
    for (const Change& change : machine.changes) {
        text += paragraph(fmt::format("what if: {} = {} (was {})", change.path, change.after, change.before));
    }
    text += figures_text(figure_rows(machine));
    if (!machine.network.empty()) text += "\ntopology\n";
    for (const NetworkTier& tier : machine.network) text += paragraph(tier_text(tier));
    for (const PodTotal& pod : pod_totals(machine))
        text += paragraph(fmt::format("all of {}: {}", pod.tier, pod_text(pod)));
    if (machine.price) {
        text += fmt::format("\nprice per chip\n  {}, used for cost\n", to_text(*machine.price));
        for (const PriceQuote& quote : machine.prices) text += paragraph(price_text(quote));
    }
    const Table ridge = ridge_table(machine);
    if (!ridge.rows.empty()) text += "\n" + table_text(ridge);
    text += "\nConfidence: A primary source, B secondary or well derived, C weak, D sources disagree.\n";
    if (text.find('?') != std::string::npos) text += "A ridge point with ? depends on a value of confidence C or D.\n";
    return text;
}

/// One row per value, and one more for each value that another source gives for the same quantity.
Table show_table(const Machine& machine, bool exact) {
    Table table;
    table.head = {"figure", "value", "unit", "basis", "confidence", "source", "note"};
    table.right = {false, true, false, false, false, false, false};
    const auto value = [&](const DisplayValue& shown) { return exact ? shown.exact : shown.text; };
    const auto unit = [&](const FigureRow& row) { return exact ? row.unit : std::string(); };
    for (const FigureRow& row : figure_rows(machine)) {
        const bool known = !row.value.text.empty();
        const std::string note = row.each + (row.each.empty() || row.note.empty() ? "" : "; ") + row.note;
        table.rows.push_back({row.path, value(row.value), known ? unit(row) : "",
                              !known        ? ""
                              : row.what_if ? "what-if"
                                            : std::string(name(row.basis)),
                              known && !row.what_if ? std::string(1, row.confidence) : "", row.source, note});
        for (const auto& [shown, other] : row.alternatives) {
            table.rows.push_back({row.path, value(shown), unit(row), "alternative", "", other.source, other.note});
        }
    }
    for (const PriceQuote& quote : machine.prices) {
        const double middle = (quote.usd_per_chip_hour.front() + quote.usd_per_chip_hour.back()) / 2;
        const std::string range = quote.usd_per_chip_hour.size() > 1 ? "middle of a range; " : "";
        table.rows.push_back({"price", exact ? exact_text(middle) : number_text(middle, 4) + " USD/h",
                              exact ? "USD/h" : "", "spec", std::string(1, quote.confidence), quote.source,
                              range + quote.kind});
    }
    for (const RidgePoint& point : ridge_points(machine)) {
        table.rows.push_back({fmt::format("ridge.{}.{}", name(point.dtype), point.level),
                              exact ? exact_text(point.flops_per_byte) : number_text(point.flops_per_byte) + " FLOP/B",
                              exact ? "FLOP/B" : "", "derived", "", "", "matmul rate over bandwidth"});
    }
    for (const PodTotal& pod : pod_totals(machine)) {
        table.rows.push_back(
            {fmt::format("pod.{}", pod.tier), std::to_string(pod.chips), "chips", "derived", "", "", pod_text(pod)});
    }
    if (!exact) {
        table.head.erase(table.head.begin() + 2);
        table.right.erase(table.right.begin() + 2);
        for (auto& row : table.rows) row.erase(row.begin() + 2);
    }
    return table;
}

}  // namespace

std::string machine_list(const std::vector<Machine>& machines, Format format) {
    if (format == Format::json) return machine_list_json(machines);
    Table table = list_table(machines, format == Format::csv);
    if (format != Format::text) return printed(table, format);
    narrow_names(table);
    return table_text(table) + "\n" + std::string(list_legend);
}

std::string machine_show(const Machine& machine, Format format) {
    if (format == Format::json) return machine_show_json(machine);
    if (format == Format::text) return show_text(machine);
    const std::string table = printed(show_table(machine, format == Format::csv), format);
    if (format == Format::csv) return table;
    const std::string build = build_text(machine);
    std::string tiers;
    for (const NetworkTier& tier : machine.network) tiers += "- " + tier_text(tier) + "\n";
    return fmt::format("## {}\n\n{}\n\n{}{}{}{}{}", machine.name, identity(machine), build, build.empty() ? "" : "\n\n",
                       table, tiers.empty() ? "" : "\n", tiers);
}

}  // namespace roofline::core
