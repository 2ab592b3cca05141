#include "report/page/page_sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "predict/expected_basis.hpp"
#include "report/op/expected_text.hpp"
#include "report/source_json.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

void append(std::string& text, std::string_view part) {
    if (part.empty()) return;
    if (!text.empty()) text += "; ";
    text += part;
}

template <class Figure, class Text>
std::string remark_of(const Figure& figure, const Text& text) {
    std::string remark;
    if (figure.low_confidence()) remark = "low confidence";
    append(remark, figure.note);
    for (const Alternative& other : figure.alternatives) {
        append(remark, fmt::format("{} says {}", other.source, text(other.value)));
    }
    return remark;
}

}  // namespace

void PageSources::row(const std::string& label, std::string value, double exact, std::string_view unit, Origin origin) {
    if (!known_.insert(label).second) return;
    TableRow row(table_);
    row.text(label).number(std::move(value), exact, unit).text(std::string(origin.basis));
    row.text(std::move(origin.source)).text(std::move(origin.remark));
}

void PageSources::add(const Rate& rate) {
    const auto text = [&](double value) { return rate.flops ? to_text(FlopRate{value}) : to_text(Bandwidth{value}); };
    Origin origin{"what if", "set for this answer", ""};
    if (!rate.what_if) origin = {name(rate.basis), rate.source, remark_of(rate, text)};
    row(rate.label, rate.value_text(), rate.value, rate.flops ? "FLOP/s" : "B/s", std::move(origin));
}

void PageSources::add(const Prediction& answer) {
    for (const Resource& resource : answer.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) add(term.rate);
    }
}

void PageSources::add_roofs(const Machine& machine) {
    for (const Rate& rate : roof_rates(machine)) add(rate);
}

void PageSources::add_memory(const Machine& machine) {
    if (machine.memory.empty() || !machine.memory.front().capacity.value) return;
    const MemoryLevel& level = machine.memory.front();
    const Figure<Bytes>& figure = level.capacity;
    const auto text = [](double value) { return to_text(Bytes{value}); };
    Origin origin{"what if", "set for this answer", ""};
    if (!figure.what_if) origin = {name(figure.basis), figure.source, remark_of(figure, text)};
    row(level.label + " capacity", text(figure.value->value), figure.value->value, "B", std::move(origin));
}

void PageSources::add_price(const Machine& machine) {
    if (!machine.price) return;
    Origin origin{machine.prices.size() > 1 ? "median of quotes" : "quote", "", ""};
    std::vector<std::string> sources;
    for (const PriceQuote& quote : machine.prices) {
        std::vector<std::string> usd;
        for (const double each : quote.usd_per_chip_hour) usd.push_back(fmt::format("{:g}", each));
        sources.push_back(quote.source);
        append(origin.remark, fmt::format("{} USD/h, {}{}{}", fmt::join(usd, " to "), quote.kind,
                                          quote.date.empty() ? "" : ", ", quote.date));
    }
    origin.source = fmt::format("{}", fmt::join(sources, "; "));
    for (const Change& change : machine.changes) {
        if (change.path == "price") origin = {"what if", "set for this answer", ""};
    }
    row("price of a chip", to_text(*machine.price), machine.price->value, "USD/s", std::move(origin));
}

void PageSources::write(PageWriter& page) {
    if (table_.rows.empty()) return;
    page.section(PagePlace::basis, "Figures of the machine and their sources");
    page.table(std::exchange(table_, Table{table_.head, {}, table_.right}));
}

void add_measurements(PageWriter& page, const Prediction& answer) {
    if (!answer.expected_s) return;
    Table table;
    table.head = {"of", "dtype", "software", "measured on", "measurements", "mean error", "transferred"};
    table.right = {false, false, false, false, true, true, false};
    const Prediction& best = fastest(answer);
    for (const ModelBasis& each : model_bases(best)) {
        const KernelKey& key = each.model->key;
        TableRow row(table);
        row.text(std::string(name(key.kind))).text(key.dtype);
        row.text(key.variant.empty() ? key.software : fmt::format("{}, {}", key.software, key.variant));
        row.text(each.machine);
        const auto rows = static_cast<double>(each.model->fit.rows);
        row.number(in_groups(rows), rows).number(in_percent(each.error), each.error);
        row.text(each.transferred ? "yes" : "no");
    }
    for (std::size_t i = 0; i < best.models.messages.size(); ++i) {
        if (!best.models.messages[i]) continue;
        const ExpectedTime& expected = *best.models.messages[i];
        const auto kind = best.analysis.total.work.messages[i].message.kind;
        std::vector<std::string> cells{std::string(collective_name(kind, true)), "", calibration_name(expected),
                                       fmt::format("{}", fmt::join(expected.machines, ", ")), ""};
        bool known = false;
        for (const auto& row : table.rows) known = known || (row.front() == cells.front() && row[2] == cells[2]);
        if (known) continue;
        TableRow row(table);
        for (std::string& cell : cells) row.text(std::move(cell));
        row.number(in_percent(expected.error), expected.error).text(expected.transferred ? "yes" : "no");
    }
    page.section(PagePlace::basis, "Measurements that expected times rest on");
    page.table(std::move(table));
    if (answer.expected_error) {
        page.say(fmt::format(
            "Mean error of the expected time: {}. The error of a model is its error on held-out measurements; "
            "it is larger where sizes, the machine or the kind of kernel were not measured.",
            in_percent(*answer.expected_error)));
    }
}

}  // namespace roofline::core
