#include "report/model/model_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace roofline::core {

std::vector<std::string> shown_parts(const ModelAnswer& answer) {
    std::vector<std::string> parts{"embedding", "attention", "mlp", "experts", "norm", "head"};
    for (const auto& entry : answer.counts.parts) {
        if (std::find(parts.begin(), parts.end(), entry.first) == parts.end()) parts.push_back(entry.first);
    }
    return parts;
}

PartCount part_of(const PartCounts& parts, const std::string& part) {
    const auto found = parts.find(part);
    return found == parts.end() ? PartCount{} : found->second;
}

std::string layer_ranges(const std::vector<std::int64_t>& layers) {
    std::vector<std::string> ranges;
    for (std::size_t i = 0; i < layers.size();) {
        std::size_t end = i + 1;
        while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
        ranges.push_back(end - i == 1 ? fmt::format("{}", layers[i])
                                      : fmt::format("{}-{}", layers[i], layers[end - 1]));
        i = end;
    }
    return fmt::format("{}", fmt::join(ranges, ", "));
}

std::vector<std::string> model_notes(const ModelAnswer& answer) {
    std::vector<std::string> notes = answer.model.notes;
    notes.insert(notes.end(), answer.notes.begin(), answer.notes.end());
    const PartCounts& parts = answer.counts.parts;
    if (part_of(parts, "experts").params.is_zero()) {
        notes.emplace_back("all parameters are active: every token uses the whole model");
    } else if (answer.model.embedding_is_active) {
        notes.emplace_back("active parameters: embedding, head, and the experts that one token is sent to");
    } else {
        notes.emplace_back(
            "active parameters: without the input embedding, as the publisher counts; of the experts only those that a "
            "token is sent to");
    }
    notes.emplace_back(
        "FLOPs: 2 forward and 6 in training for every parameter that a token is multiplied with, without look-ups, "
        "scales and biases; attention separately, forward, averaged over the sequence, causal masks counted half");
    if (!answer.counts.mtp.params.is_zero()) {
        notes.push_back(fmt::format(
            "multi-token prediction layers are not in these numbers; the checkpoint has {} more parameters for them",
            answer.counts.mtp.params.to_text()));
    }
    return notes;
}

std::string short_count(const Rational& value) {
    const double number = value.to_double();
    constexpr const char* letters[] = {"", " k", " M", " G", " T", " P"};
    std::size_t power = 0;
    double scaled = number;
    while (scaled >= 999.5 && power + 1 < std::size(letters)) {
        scaled /= 1000;
        ++power;
    }
    if (power == 0) return fmt::format("{:.0f}", scaled);
    const int digits = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}{}", scaled, digits, letters[power]);
}

SharesPlot model_picture(const ModelAnswer& answer) {
    const ModelCounts& counts = answer.counts;
    SharesPlot plot;
    plot.title = fmt::format("{}: where parameters and FLOPs go", answer.model.name);
    plot.subtitle =
        fmt::format("{} parameters, a sequence of {} tokens", short_count(counts.total.params), answer.model.sequence);
    SharesBar params{"parameters", short_count(counts.total.params), {}};
    SharesBar active{"active", short_count(counts.total.active), {}};
    SharesBar flops{"FLOP per token", short_count(counts.total.products + counts.total.attention), {}};
    const auto add = [](SharesBar& bar, const std::string& label, const Rational& amount) {
        bar.pieces.push_back({label, amount.to_double(), short_count(amount)});
    };
    for (const std::string& part : shown_parts(answer)) {
        const PartCount count = part_of(counts.parts, part);
        add(params, part, count.params);
        add(active, part, count.active);
        add(flops, part, count.products);
    }
    add(flops, "scores and values", counts.total.attention);
    plot.bars = {std::move(params), std::move(active), std::move(flops)};
    return plot;
}

Table parts_table(const ModelAnswer& answer) {
    Table table;
    table.head = {"part", "params", "params_active", "flops_forward", "flops_attention"};
    table.right = {false, true, true, true, true};
    const auto row = [&](const std::string& part, const PartCount& count) {
        table.rows.push_back({part, count.params.to_text(), fmt::format("{}", count.active.to_double()),
                              fmt::format("{}", count.products.to_double()),
                              fmt::format("{}", count.attention.to_double())});
    };
    for (const std::string& part : shown_parts(answer)) row(part, part_of(answer.counts.parts, part));
    row("total", answer.counts.total);
    return table;
}

Table layers_table(const ModelAnswer& answer) {
    Table table;
    table.head = {"layers",        "kind",          "count",           "params",
                  "params_active", "flops_forward", "flops_attention", "kv_bytes_per_token"};
    table.right = {false, false, true, true, true, true, true, true};
    for (std::size_t i = 0; i < answer.model.groups.size(); ++i) {
        const LayerGroup& group = answer.model.groups[i];
        PartCount sum;
        for (const auto& entry : answer.counts.groups[i].parts) {
            if (entry.first != "mtp") sum += entry.second;
        }
        table.rows.push_back({layer_ranges(group.layers), group.label, fmt::format("{}", group.kind.count),
                              sum.params.to_text(), fmt::format("{}", sum.active.to_double()),
                              fmt::format("{}", sum.products.to_double()), fmt::format("{}", sum.attention.to_double()),
                              kv_bytes(answer, answer.counts.groups[i].cache.per_token).to_text()});
    }
    return table;
}

}  // namespace roofline::core
