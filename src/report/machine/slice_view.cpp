#include "report/machine/slice_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bound/network_pricing.hpp"
#include "network/placement.hpp"
#include "network/system.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

constexpr double gigabyte = 1e9;

enum class Group { chips, network, sums, collectives };

struct SliceRow {
    Group group = Group::chips;
    std::string label;
    std::string text;
};

struct SliceFacts {
    std::string name;
    std::vector<SliceRow> rows;
    Json json;
};

class Facts {
public:
    explicit Facts(const Slice& slice) : slice_(slice), machine_(slice.machine) {}

    SliceFacts run() {
        const std::int64_t chips = slice_.chips();
        facts_.name = fmt::format("{} {}", machine_.name, slice_.shape_text());
        facts_.json["machine"] = machine_.id;
        facts_.json["slice"] = slice_.shape_text();
        facts_.json["chips"] = chips;
        row("chips", std::to_string(chips));
        wires();
        sums(static_cast<double>(chips));
        if (chips > 1) collectives();
        facts_.json["notes"] = slice_.notes;
        return std::move(facts_);
    }

private:
    void row(std::string label, std::string text) {
        facts_.rows.push_back({group_, std::move(label), std::move(text)});
    }

    void wires() {
        group_ = Group::network;
        Json wires = Json::array();
        Json bisections = Json::object();
        for (const SliceTier& tier : slice_.tiers) {
            const NetworkTier& network = slice_.network(tier);
            const bool axes = has_axes(network);
            for (std::size_t axis = 0; axis < tier.shape.size(); ++axis) {
                const std::string name = axes ? fmt::format("{}.{}", network.id, axis) : network.id;
                const std::string closes = !axes ? "" : tier.wrapped[axis] ? ", a ring" : ", open";
                row(name, fmt::format("{}{}", tier.shape[axis], closes));
                wires.push_back({{"wire", name},
                                 {"chips", tier.shape[axis]},
                                 {"topology", network.topology},
                                 {"wrapped", axes ? Json(static_cast<bool>(tier.wrapped[axis])) : Json(nullptr)}});
            }
            const auto rate = rate_of(network);
            const double across = rate ? static_cast<double>(bisection_links(slice_, tier)) * rate->value : 0;
            row(network.label + " one way", rate ? rate->value_text() : "-");
            row(network.label + " bisection", rate ? to_text(Bandwidth{across}) : "-");
            bisections[network.id] = rate ? Json(across) : Json(nullptr);
        }
        facts_.json["wires"] = std::move(wires);
        facts_.json["bisection_bytes_per_s"] = std::move(bisections);
    }

    void sums(double chips) {
        group_ = Group::sums;
        Json peaks = Json::object();
        for (const Peak& peak : machine_.peaks) {
            if (peak.unit != Unit::matmul || !peak.rate.value || machine_.peak(peak.unit, peak.dtype) != &peak)
                continue;
            const FlopRate sum{chips * peak.rate.value->value};
            peaks[std::string(name(peak.dtype))] = sum.value;
            if (peak.dtype == Dtype::bf16) row("bf16 matmul", to_text(sum));
        }
        facts_.json["matmul_flops_per_s"] = std::move(peaks);
        if (const MemoryLevel* hbm = machine_.level("hbm"); hbm != nullptr) {
            if (hbm->capacity.value) row("HBM", capacity_text(Bytes{chips * hbm->capacity.value->value}));
            if (hbm->bandwidth.value) row("HBM bandwidth", to_text(Bandwidth{chips * hbm->bandwidth.value->value}));
            facts_.json["hbm_bytes"] = sum(hbm->capacity, chips);
            facts_.json["hbm_bytes_per_s"] = sum(hbm->bandwidth, chips);
        }
        if (machine_.power.value) row("power", to_text(Power{chips * machine_.power.value->value}));
        facts_.json["power_w"] = sum(machine_.power, chips);
    }

    template <class Q>
    [[nodiscard]] static Json sum(const Figure<Q>& figure, double chips) {
        return figure.value ? Json(chips * figure.value->value) : Json(nullptr);
    }

    void collectives() {
        group_ = Group::collectives;
        System system;
        system.slice = slice_;
        auto mesh = place_mesh(slice_, {{"all", slice_.chips()}});
        if (!mesh) return;
        system.mesh = std::move(*mesh);
        Json times = Json::object();
        for (const CollectiveInfo& each : all_collectives) {
            if (each.ends != Ends::all) continue;
            const auto load = collective_load(slice_, each.kind, {&system.mesh.front()});
            const auto time = load ? time_of(*load, system, gigabyte) : std::nullopt;
            row(fmt::format("{} of 1 GB", each.spoken), time ? to_text(Seconds{time->lower_s}) : "-");
            times[std::string(each.id)] = time ? Json(time->lower_s) : Json(nullptr);
        }
        facts_.json["gigabyte_s"] = std::move(times);
    }

    const Slice& slice_;
    const Machine& machine_;
    SliceFacts facts_;
    Group group_ = Group::chips;
};

std::string as_json(const std::vector<SliceFacts>& all) {
    Json json;
    json["schema"] = 1;
    if (all.size() == 1) {
        json.update(all.front().json);
    } else {
        json["machines"] = Json::array();
        for (const SliceFacts& facts : all) json["machines"].push_back(facts.json);
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string slice_show(const std::vector<Slice>& slices, Format format) {
    std::vector<SliceFacts> all;
    for (const Slice& slice : slices) all.push_back(Facts(slice).run());
    if (format == Format::json) return as_json(all);
    std::vector<std::pair<Group, std::string>> labels;
    for (const Group group : {Group::chips, Group::network, Group::sums, Group::collectives}) {
        for (const SliceFacts& facts : all) {
            for (const SliceRow& row : facts.rows) {
                const std::pair label(row.group, row.label);
                const bool known = std::find(labels.begin(), labels.end(), label) != labels.end();
                if (row.group == group && !known) labels.push_back(label);
            }
        }
    }
    Table table;
    table.head.emplace_back();
    table.right.push_back(false);
    for (const SliceFacts& facts : all) {
        table.head.push_back(facts.name);
        table.right.push_back(true);
    }
    for (const auto& [group, label] : labels) {
        table.rows.push_back({label});
        for (const SliceFacts& facts : all) {
            const auto row = std::find_if(facts.rows.begin(), facts.rows.end(),
                                          [&, &name = label](const SliceRow& each) { return each.label == name; });
            table.rows.back().push_back(row == facts.rows.end() ? "-" : row->text);
        }
    }
    if (format == Format::csv) return table_csv(table);
    std::string text = format == Format::markdown ? table_markdown(table) : table_text(table);
    text += "\nRates are per direction; times of collectives are lower bounds over all chips, each run alone.\n";
    for (const Slice& slice : slices) {
        for (const std::string& note : slice.notes) text += fmt::format("note: {}\n", note);
    }
    return text;
}

}  // namespace roofline::core
