#include "measure/run/tape.hpp"

#include <algorithm>
#include <utility>

namespace roofline::core {

namespace {

using enum MapFunction;

constexpr std::pair<std::string_view, MapFunction> names[] = {
    {"convert", identity}, {"add", add},           {"sub", sub},           {"mul", mul},         {"div", div},
    {"neg", neg},          {"abs", abs},           {"square", square},     {"maximum", maximum}, {"minimum", minimum},
    {"where", where},      {"relu", relu},         {"relu2", relu2},       {"exp", exp},         {"log", log},
    {"sqrt", sqrt},        {"rsqrt", rsqrt},       {"sin", sin},           {"cos", cos},         {"tanh", tanh},
    {"erf", erf},          {"sigmoid", sigmoid},   {"softplus", softplus}, {"silu", silu},       {"gelu", gelu},
    {"step", step},        {"dsigmoid", dsigmoid}, {"dsilu", dsilu},       {"dgelu", dgelu},
};

}  // namespace

std::optional<MapFunction> find_map_function(std::string_view name) {
    const auto* found =
        std::find_if(std::begin(names), std::end(names), [&](const auto& n) { return n.first == name; });
    if (found == std::end(names)) return std::nullopt;
    return found->second;
}

std::string_view name(MapFunction function) {
    const auto* found =
        std::find_if(std::begin(names), std::end(names), [&](const auto& n) { return n.second == function; });
    return found->first;
}

}  // namespace roofline::core
