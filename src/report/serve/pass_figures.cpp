#include "report/serve/pass_figures.hpp"

#include <cstddef>

#include "predict/serve/pass_exchange.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;

/// Returns an object with one value per resource of a pass.
template <class Get>
Json by_resource(const ServedPass& pass, const Get& get) {
    Json json = Json::object();
    for (std::size_t i = 0; i < pass.total().pricing.resources.size(); ++i) {
        json[pass.total().pricing.resources[i].id] = pass.total().seconds ? Json(get(i)) : Json();
    }
    return json;
}

Json uniform_bound(const ServedPass& pass) {
    const Resource* bound = pass.total().bound_resource();
    return bound == nullptr || !pass.experts ? Json() : Json(bound->id);
}

Json dims_json(const ServedPass& pass) {
    Json dims = Json::object();
    for (const auto& [dim, size] : pass.prediction.program.sizes) {
        if (!dim.starts_with('#')) dims[dim] = size;
    }
    return dims;
}

Json collectives_json(const ServedPass& pass) {
    Json list = Json::array();
    for (const MessageWork& each : pass.total().work.messages) {
        const auto size = each.message.bytes.evaluate(pass.prediction.program.sizes);
        const auto times = each.count.evaluate(pass.prediction.program.sizes);
        if (!size || !times || size->is_zero()) continue;
        list.push_back({{"kind", collective_name(each.message.kind)},
                        {"axes", each.message.axes},
                        {"tensor", each.message.tensor},
                        {"bytes", size->to_double()},
                        {"count", times->to_double()}});
    }
    return list;
}

Json exchange_json(const ServedPass& pass) {
    const PassExchange exchange = exchange_of(pass.prediction);
    if (exchange.kernels == nullptr) return {};
    Json json = {{"kernels", exchange.kernels->name}, {"moves", name(exchange.kernels->form)}, {"measured", Json()}};
    if (exchange.model == nullptr) return json;
    const ExpectedExchange& model = *exchange.model;
    json["measured"] = {{"machine", model.machine},
                        {"software", model.model->key.software},
                        {"chips", model.model->key.members},
                        {"error", model.error}};
    return json;
}

constexpr AnswerFigure<ServedPass> pass_figures[] = {
    {"lower_s", "lower", in_seconds, [](const ServedPass& pass) -> Json { return pass.least.lower_s; }},
    {"uniform_lower_s", "uniform", in_seconds,
     [](const ServedPass& pass) { return pass.experts ? Json(pass.total().bounds.lower) : Json(); }},
    {"sequential_s", "sequential", in_seconds, [](const ServedPass& pass) -> Json { return pass.total().sequential; }},
    {"expected_s", "expected", in_seconds,
     [](const ServedPass& pass) { return figure_value(fastest(pass.prediction).expected_s); }},
    {"expected_error", "", in_percent,
     [](const ServedPass& pass) { return figure_value(fastest(pass.prediction).expected_error); }},
    {"upper_s", "no overlap", in_seconds, [](const ServedPass& pass) -> Json { return pass.total().bounds.upper; }},
    {"bound_by", "bound by", nullptr, [](const ServedPass& pass) { return optional_string(pass.least.bound_by); }},
    {"uniform_bound_by", "", nullptr, uniform_bound},
    {"time_s", "", in_seconds,
     [](const ServedPass& pass) { return by_resource(pass, [&](std::size_t i) { return pass.least.seconds[i]; }); }},
    {"uniform_time_s", "", in_seconds,
     [](const ServedPass& pass) {
         return pass.experts ? by_resource(pass, [&](std::size_t i) { return pass.total().least_seconds[i]; }) : Json();
     }},
    {"dims", "", nullptr, dims_json},
    {"collectives", "", nullptr, collectives_json},
    {"exchange", "", nullptr, exchange_json},
};

}  // namespace

FigureValue pass_json(const ServedPass& pass) { return json_of(pass_figures, pass); }

}  // namespace roofline::core
