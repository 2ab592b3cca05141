#include "report/source_json.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace roofline::core {

nlohmann::ordered_json source_json(const Rate& rate) {
    using Json = nlohmann::ordered_json;
    Json source;
    source["figure"] = rate.path;
    source["value"] = rate.value;
    source["unit"] = rate.flops ? "FLOP/s" : "B/s";
    source["basis"] = rate.what_if ? "what-if" : std::string(name(rate.basis));
    source["confidence"] = rate.what_if ? Json(nullptr) : Json(std::string(1, rate.confidence));
    source["source"] = rate.source;
    source["note"] = rate.note;
    Json others = Json::array();
    for (const Alternative& other : rate.alternatives) {
        others.push_back({{"value", other.value}, {"source", other.source}, {"note", other.note}});
    }
    source["alternatives"] = std::move(others);
    return source;
}

std::vector<Rate> roof_rates(const Machine& machine) {
    std::vector<Rate> roofs;
    for (const Peak& peak : machine.peaks) {
        if (peak.rate.value) roofs.push_back(rate_of(peak));
    }
    for (const MemoryLevel& level : machine.memory) {
        if (auto rate = bandwidth_of(machine, level.id)) roofs.push_back(*std::move(rate));
    }
    return roofs;
}

nlohmann::ordered_json roof_sources_json(const Machine& machine) {
    nlohmann::ordered_json sources = nlohmann::ordered_json::array();
    for (const Rate& rate : roof_rates(machine)) sources.push_back(source_json(rate));
    return sources;
}

}  // namespace roofline::core
