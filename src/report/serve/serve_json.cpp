#include "report/serve/serve_json.hpp"

#include <nlohmann/json.hpp>

#include "report/source_json.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json memory_json(const ServingMemory& memory) {
    return {
        {"weights", memory.weights}, {"kv", memory.kv}, {"activations", memory.activations}, {"total", memory.total()}};
}

Json collectives_json(const Prediction& pass) {
    Json list = Json::array();
    for (const MessageWork& each : pass.analysis.total.work.messages) {
        const auto size = each.message.bytes.evaluate(pass.program.sizes);
        const auto times = each.count.evaluate(pass.program.sizes);
        if (!size || !times || size->is_zero()) continue;
        list.push_back({{"kind", collective_name(each.message.kind)},
                        {"axes", each.message.axes},
                        {"tensor", each.message.tensor},
                        {"bytes", size->to_double()},
                        {"count", times->to_double()}});
    }
    return list;
}

// `least` is whatever experts tokens choose, `uniform` where they choose all alike likely.
Json pass_json(const Prediction& pass, const RoutingBound& least, bool experts) {
    const Analysis& total = pass.analysis.total;
    Json times = Json::object();
    Json uniform = experts ? Json::object() : Json(nullptr);
    for (std::size_t i = 0; i < total.pricing.resources.size(); ++i) {
        const std::string& id = total.pricing.resources[i].id;
        times[id] = total.seconds ? Json(least.seconds[i]) : Json(nullptr);
        if (experts) uniform[id] = total.seconds ? Json(total.least_seconds[i]) : Json(nullptr);
    }
    const Resource* bound = total.bound_resource();
    Json dims = Json::object();
    for (const auto& [dim, size] : pass.program.sizes) {
        if (!dim.starts_with('#')) dims[dim] = size;
    }
    return {{"lower_s", least.lower_s},
            {"uniform_lower_s", experts ? Json(total.bounds.lower) : Json(nullptr)},
            {"sequential_s", total.sequential},
            {"expected_s", or_null(pass.expected_s)},
            {"expected_error", or_null(pass.expected_error)},
            {"upper_s", total.bounds.upper},
            {"bound_by", least.bound_by.empty() ? Json(nullptr) : Json(least.bound_by)},
            {"uniform_bound_by", bound == nullptr || !experts ? Json(nullptr) : Json(bound->id)},
            {"time_s", std::move(times)},
            {"uniform_time_s", std::move(uniform)},
            {"dims", std::move(dims)},
            {"collectives", collectives_json(pass)}};
}

Json plan_json(const ServeAnswer& answer) {
    Json plan = Json::object();
    for (const auto& [axis, size] : plan_axes(answer.plan)) plan[std::string(axis)] = size;
    Json mesh = Json::object();
    for (const MeshAxis& axis : answer.mesh) mesh[axis.name] = axis.size;
    plan["mesh"] = std::move(mesh);
    plan["caches"] = name(answer.caches);
    plan["chosen"] = answer.plan_chosen;
    return plan;
}

Json frontier_json(const ServeAnswer& answer) {
    const auto chips = static_cast<double>(answer.slice.chips());
    Json list = Json::array();
    for (std::size_t i = 0; i < answer.frontier.size(); ++i) {
        const ServePoint& point = answer.frontier[i];
        list.push_back({{"batch", point.batch},
                        {"fits", answer.capacity ? Json(point.batch <= answer.max_batch) : Json(nullptr)},
                        {"lower_s", point.lower_s},
                        {"uniform_lower_s", answer.experts() ? Json(point.uniform_lower_s) : Json(nullptr)},
                        {"tpot_s", point.tpot_s},
                        {"tokens_per_s", point.tokens_per_s},
                        {"tokens_per_s_per_chip", point.tokens_per_s / chips},
                        {"usd_per_million_tokens", or_null(usd_per_million(answer, chips, point.tokens_per_s))},
                        {"bound_by", point.bound_by},
                        {"knee", i == answer.knee}});
    }
    return list;
}

Json served_json(const ServeAnswer& answer) {
    const double tokens = served_tokens_per_s(answer);
    const double chips = serving_chips(answer);
    return {{"tokens_per_s", tokens},
            {"tokens_per_s_per_chip", tokens / chips},
            {"requests_per_s", tokens / static_cast<double>(answer.output)},
            {"usd_per_million_tokens", or_null(usd_per_million(answer, chips, tokens))}};
}

}  // namespace

std::string serve_json(const ServeAnswer& answer) {
    const auto chips = static_cast<double>(answer.slice.chips());
    const double tokens = decode_tokens_per_s(answer);
    Json json;
    json["schema"] = 1;
    json["model"] = answer.model.name;
    json["machine"] = answer.slice.machine.id;
    json["slice"] = answer.slice.shape_text();
    json["chips"] = answer.slice.chips();
    json["prompt"] = answer.prompt;
    json["output"] = answer.output;
    json["batch"] = answer.batch;
    json["plan"] = plan_json(answer);
    json["weights"] = answer.weights.scheme;
    json["kv_dtype"] = name(answer.kv_dtype);
    json["memory_bytes"] = memory_json(answer.slice_memory);
    json["memory_bytes_per_chip"] = memory_json(answer.chip_memory);
    json["capacity_bytes_per_chip"] = or_null(answer.capacity);
    json["prefill_chunk"] = answer.chunk;
    json["fits"] = answer.capacity ? Json(answer.fits) : Json(nullptr);
    json["max_batch"] = answer.capacity ? Json(answer.max_batch) : Json(nullptr);
    json["prefill"] = pass_json(answer.prefill, answer.least_prefill, answer.experts());
    json["decode"] = pass_json(answer.decode, answer.least_decode, answer.experts());
    json["decode"]["context"] = answer.context;
    json["decode"]["first_s"] = answer.first_step_s;
    json["decode"]["last_s"] = answer.last_step_s;
    json["times"] = calibrated(answer) ? "expected" : "in turn";
    json["ttft_s"] = pass_seconds(answer.prefill);
    json["tpot_s"] = pass_seconds(answer.decode);
    json["tokens_per_s"] = tokens;
    json["tokens_per_s_per_chip"] = tokens / chips;
    json["usd_per_million_tokens"] = or_null(usd_per_million(answer, chips, tokens));
    json["with_prefill"] = served_json(answer);
    json["disaggregated"] = answer.disaggregated ? Json{{"prefill_per_decode", prefill_ratio(answer)}} : Json(nullptr);
    if (const auto& load = answer.under_load) {
        json["under_load"] = {{"software", load->software},
                              {"error", load->error},
                              {"ttft_s", load->ttft_s},
                              {"tpot_s", load->tpot_s},
                              {"sequences", load->running},
                              {"tokens_per_s", load->tokens_per_s},
                              {"usd_per_million_tokens", or_null(usd_per_million(answer, chips, load->tokens_per_s))}};
    } else {
        json["under_load"] = nullptr;
    }
    json["compute_bound_batch"] = {{"step", or_null(answer.compute_bound.step)},
                                   {"weights", or_null(answer.compute_bound.weights)},
                                   {"textbook", or_null(answer.compute_bound.textbook)}};
    json["frontier"] = frontier_json(answer);
    json["smallest_slice"] = answer.smallest ? Json(answer.smallest->name) : Json(nullptr);
    json["smallest_slice_chips"] = answer.smallest ? Json(answer.smallest->chips) : Json(nullptr);
    json["notes"] = serve_notes(answer);
    Json sources = Json::array();
    for (const Resource& resource : answer.decode.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) sources.push_back(source_json(term.rate));
    }
    json["sources"] = std::move(sources);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace roofline::core
