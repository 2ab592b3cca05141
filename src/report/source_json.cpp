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

}  // namespace roofline::core
