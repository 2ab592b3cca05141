#include "report/machine/machine_json.hpp"

#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION
#endif
#include <nlohmann/json.hpp>

#include <set>

#include "report/machine/machine_rows.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json number_or_null(const std::optional<T>& quantity) {
    return quantity ? Json(quantity->value) : Json(nullptr);
}

Json whole_or_null(std::int64_t number) { return number > 0 ? Json(number) : Json(nullptr); }

template <class Q>
Json figure(const Figure<Q>& f) {
    Json others = Json::array();
    for (const Alternative& other : f.alternatives) {
        others.push_back({{"value", other.value}, {"source", other.source}, {"note", other.note}});
    }
    return {{"value", number_or_null(f.value)},
            {"basis", name(f.basis)},
            {"confidence", std::string(1, f.confidence)},
            {"source", f.source},
            {"note", f.note},
            {"what_if", f.what_if},
            {"alternatives", std::move(others)}};
}

std::string_view name_of(Managed managed) {
    return managed == Managed::software ? "software" : managed == Managed::compiler ? "compiler" : "hardware";
}

Json peaks(const Machine& machine) {
    Json list = Json::array();
    for (const Peak& peak : machine.peaks) {
        list.push_back({{"unit", name(peak.unit)},
                        {"dtype", name(peak.dtype)},
                        {"accumulator", name(peak.accumulator)},
                        {"quoted_sparse", peak.quoted_sparse},
                        {"sum_bits", peak.sum_bits > 0 ? Json(peak.sum_bits) : Json()},
                        {"passes", peak.passes > 0 ? Json(peak.passes) : Json()},
                        {"of", peak.passes > 0 ? Json(name(peak.of)) : Json()},
                        {"flops_per_s", figure(peak.rate)}});
    }
    return list;
}

Json memory(const Machine& machine) {
    Json list = Json::array();
    for (const MemoryLevel& level : machine.memory) {
        list.push_back({{"level", level.id},
                        {"label", level.label},
                        {"scope", level.scope},
                        {"instances", level.instances},
                        {"managed", name_of(level.managed)},
                        {"capacity_bytes", figure(level.capacity)},
                        {"block_bytes", figure(level.block)},
                        {"total_capacity_bytes", number_or_null(level.total_capacity())},
                        {"bandwidth_bytes_per_s", figure(level.bandwidth)},
                        {"measured_bandwidth_bytes_per_s", figure(level.measured_bandwidth)}});
    }
    return list;
}

Json host(const Machine& machine) {
    if (!machine.host) return nullptr;
    return {{"kind", machine.host->kind},
            {"bandwidth_bytes_per_s", figure(machine.host->bandwidth)},
            {"measured_bandwidth_bytes_per_s", figure(machine.host->measured_bandwidth)},
            {"memory_capacity_bytes", figure(machine.host->memory_capacity)},
            {"memory_bandwidth_bytes_per_s", figure(machine.host->memory_bandwidth)}};
}

Json network(const Machine& machine) {
    Json list = Json::array();
    for (const NetworkTier& tier : machine.network) {
        list.push_back({{"tier", tier.id},
                        {"label", tier.label},
                        {"topology", tier.topology},
                        {"domain", whole_or_null(tier.domain)},
                        {"links", whole_or_null(tier.links)},
                        {"in_network_reduction", tier.in_network_reduction},
                        {"link_bandwidth_bytes_per_s", figure(tier.link_bandwidth)},
                        {"chip_bandwidth_bytes_per_s", figure(tier.chip_bandwidth)},
                        {"effective_link_bandwidth_bytes_per_s", figure(tier.effective_link_bandwidth)},
                        {"hop_latency_s", figure(tier.hop_latency)},
                        {"bisection_bytes_per_s", figure(tier.bisection)},
                        {"allreduce_bandwidth_bytes_per_s", figure(tier.allreduce_bandwidth)},
                        {"pod_shape", tier.pod_shape},
                        {"host_shape", tier.host_shape},
                        {"max_job", tier.max_job},
                        {"wrap_multiple", tier.wrap_multiple > 0 ? Json(tier.wrap_multiple) : Json(nullptr)},
                        {"wrap_needs_blocks", tier.wrap_needs_blocks},
                        {"leaf", whole_or_null(tier.leaf)},
                        {"rails", tier.leaf > 0 ? Json(tier.rails) : Json(nullptr)},
                        {"oversubscription", tier.leaf > 0 ? Json(tier.oversubscription.to_double()) : Json(nullptr)},
                        {"wrap_rule", tier.wrap_rule},
                        {"note", tier.note}});
    }
    return list;
}

Json prices(const Machine& machine) {
    Json list = Json::array();
    for (const PriceQuote& quote : machine.prices) {
        list.push_back({{"usd_per_chip_hour", quote.usd_per_chip_hour},
                        {"kind", quote.kind},
                        {"date", quote.date},
                        {"source", quote.source},
                        {"confidence", std::string(1, quote.confidence)}});
    }
    return list;
}

Json measured(const Machine& machine) {
    Json list = Json::array();
    for (const Measurement& m : machine.measured) {
        list.push_back({{"what", m.what}, {"unit", m.unit}, {"figure", figure(m.value)}});
    }
    return list;
}

Json ridge(const Machine& machine) {
    Json by_dtype = Json::object();
    for (const RidgePoint& point : ridge_points(machine)) {
        by_dtype[std::string(name(point.dtype))][point.level] = point.flops_per_byte;
    }
    return by_dtype;
}

Json pods(const Machine& machine) {
    Json list = Json::array();
    const auto count = [](const std::optional<std::int64_t>& n) { return n ? Json(*n) : Json(nullptr); };
    for (const PodTotal& pod : pod_totals(machine)) {
        list.push_back({{"tier", pod.tier},
                        {"chips", pod.chips},
                        {"shape", pod.shape},
                        {"hosts", count(pod.hosts)},
                        {"cores", count(pod.cores)},
                        {"bf16_flops_per_s", number_or_null(pod.bf16)},
                        {"memory_bytes", number_or_null(pod.memory)},
                        {"power_w", number_or_null(pod.power)}});
    }
    return list;
}

Json changes(const Machine& machine) {
    Json list = Json::array();
    for (const Change& change : machine.changes) {
        list.push_back({{"path", change.path}, {"before", change.before}, {"after", change.after}});
    }
    return list;
}

Json sources(const Machine& machine) {
    std::set<std::string> cited;
    for (const FigureRow& row : figure_rows(machine)) {
        if (!row.source.empty()) cited.insert(row.source);
    }
    for (const PriceQuote& quote : machine.prices) cited.insert(quote.source);
    return Json(cited);
}

Json machine_json(const Machine& machine) {
    const Json unit = machine.matrix_unit ? Json{{"side", machine.matrix_unit->side},
                                                 {"count_per_core", whole_or_null(machine.matrix_unit->count_per_core)}}
                                          : Json(nullptr);
    return {{"machine", machine.id},
            {"name", machine.name},
            {"vendor", machine.vendor},
            {"kind", machine.kind},
            {"year", whole_or_null(machine.year)},
            {"aliases", machine.aliases},
            {"origin", machine.origin},
            {"cores", whole_or_null(machine.cores)},
            {"cores_label", machine.cores_label},
            {"matrix_unit", unit},
            {"clock_hz", figure(machine.clock)},
            {"peaks", peaks(machine)},
            {"memory", memory(machine)},
            {"host", host(machine)},
            {"network", network(machine)},
            {"power_w", figure(machine.power)},
            {"prices", prices(machine)},
            {"usd_per_chip_hour", machine.price ? Json(machine.price->value * 3600) : Json(nullptr)},
            {"measured", measured(machine)},
            {"ridge", ridge(machine)},
            {"pods", pods(machine)},
            {"changes", changes(machine)},
            {"notes", machine.notes.empty() ? Json::array() : Json::array({machine.notes})},
            {"sources", sources(machine)}};
}

/// Replaces invalid UTF-8, which a user's path may contain and at which dump() would abort.
std::string printed(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string machine_show_json(const Machine& machine) {
    Json object{{"schema", 1}};
    object.update(machine_json(machine));
    return printed(object);
}

std::string machine_compare_json(const std::vector<Machine>& machines) {
    Json list = Json::array();
    for (const Machine& machine : machines) list.push_back(machine_json(machine));
    return printed({{"schema", 1}, {"machines", std::move(list)}});
}

std::string machine_list_json(const std::vector<Machine>& machines) {
    Json list = Json::array();
    for (const Machine& machine : machines) {
        const auto bf16 = assign(machine, Unit::matmul, Dtype::bf16);
        const MemoryLevel* hbm = machine.level("hbm");
        const auto bandwidth = hbm != nullptr ? hbm->bandwidth.value : std::nullopt;
        const Json ridge = bf16 && bandwidth ? Json((*bf16->peak->rate.value / *bandwidth).value) : Json(nullptr);
        list.push_back(
            {{"machine", machine.id},
             {"name", machine.name},
             {"vendor", machine.vendor},
             {"kind", machine.kind},
             {"year", whole_or_null(machine.year)},
             {"aliases", machine.aliases},
             {"bf16_flops_per_s", bf16 ? Json(bf16->peak->rate.value->value) : Json(nullptr)},
             {"bf16_runs_on",
              bf16 ? Json{{"unit", name(bf16->peak->unit)}, {"dtype", name(bf16->peak->dtype)}} : Json(nullptr)},
             {"hbm_bytes", number_or_null(hbm != nullptr ? hbm->total_capacity() : std::nullopt)},
             {"hbm_bytes_per_s", number_or_null(bandwidth)},
             {"ridge_flops_per_byte", ridge},
             {"power_w", number_or_null(machine.power.value)}});
    }
    return printed({{"schema", 1}, {"machines", std::move(list)}});
}

}  // namespace roofline::core
