#include "report/model/model_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

Json number(const Rational& value) {
    if (value.overflowed()) return nullptr;
    if (const auto whole = value.to_int64()) return *whole;
    return value.to_double();
}

Json params_by(const ModelAnswer& answer, const PartCounts& parts) {
    Json json = Json::object();
    for (const std::string& part : shown_parts(answer)) json[part] = number(part_of(parts, part).params);
    return json;
}

Json flops_json(const PartCount& count) {
    const Rational three(3);
    return {{"forward", number(count.products)},
            {"train", number(count.products * three)},
            {"attention", number(count.attention)},
            {"attention_train", number(count.attention * three)}};
}

Json flops_by(const ModelAnswer& answer) {
    Json json = Json::object();
    for (const std::string& part : shown_parts(answer)) {
        const PartCount count = part_of(answer.counts.parts, part);
        json[part] = number(count.products + count.attention);
    }
    return json;
}

Json layers_json(const ModelAnswer& answer) {
    std::vector<Json> layers(static_cast<std::size_t>(answer.model.layer_count));
    for (std::size_t i = 0; i < answer.model.groups.size(); ++i) {
        const LayerCounts& counts = answer.counts.groups[i];
        PartCount sum;
        for (const auto& entry : counts.parts) {
            if (entry.first != "mtp") sum += entry.second;
        }
        Json one = {{"layer", 0},
                    {"kind", answer.model.groups[i].label},
                    {"params", number(sum.params)},
                    {"params_active", number(sum.active)},
                    {"params_by", params_by(answer, counts.parts)},
                    {"flops_per_token", flops_json(sum)},
                    {"kv_bytes_per_token", number(kv_bytes(answer, counts.cache.per_token))}};
        for (const std::int64_t layer : answer.model.groups[i].layers) {
            one["layer"] = layer;
            layers[static_cast<std::size_t>(layer)] = one;
        }
    }
    return layers;
}

Json weights_json(const WeightBytes& weights) {
    Json by = Json::object();
    for (const auto& [format, share] : weights.by_format) {
        by[format] = {{"params", number(share.params)}, {"bytes", number(share.bytes)}};
    }
    return {{"scheme", weights.scheme}, {"bytes", number(weights.total)}, {"by", std::move(by)}};
}

}  // namespace

std::string model_json(const ModelAnswer& answer) {
    const Model& model = answer.model;
    const ModelCounts& counts = answer.counts;
    Json json;
    json["schema"] = 1;
    json["model"] = model.name;
    json["model_type"] = model.model_type;
    json["architecture"] = model.architecture;
    json["context"] = model.context;
    json["seq"] = model.sequence;
    json["params"] = number(counts.total.params);
    json["params_active"] = number(active_params(model, counts));
    json["params_multiplying"] = number(counts.total.multiplying);
    json["params_mtp"] = number(counts.mtp.params);
    json["params_by"] = params_by(answer, counts.parts);
    json["flops_per_token"] = flops_json(counts.total);
    json["flops_by"] = flops_by(answer);
    json["kv_dtype"] = name(answer.kv_dtype);
    json["kv_bytes_per_token"] = number(kv_bytes(answer, counts.cache.per_token));
    json["kv_bytes_per_token_beyond_window"] = number(kv_bytes(answer, counts.cache.per_token_later));
    json["kv_bytes_sequence"] = number(kv_bytes(answer, counts.cache.sequence));
    json["state_bytes"] = number(counts.cache.state_bytes);
    json["weight_bytes"] = number(answer.weights.total);
    json["weights"] = weights_json(answer.weights);
    json["activation_bytes_per_token"] = {{"none", number(counts.activations.none)},
                                          {"products", number(counts.activations.products)},
                                          {"full", number(counts.activations.full)}};
    json["attention_overtakes_mlp_at"] =
        counts.attention_overtakes ? Json(std::ceil(*counts.attention_overtakes)) : Json(nullptr);
    Json dims = Json::object();
    for (const std::string& dim : model.program.dims) {
        const auto size = model.program.sizes.find(dim);
        if (size != model.program.sizes.end()) dims[dim] = size->second;
    }
    json["dims"] = std::move(dims);
    json["layers"] = layers_json(answer);
    json["notes"] = model_notes(answer);
    json["sources"] = Json::array({model.name});
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace roofline::core
