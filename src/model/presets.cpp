#include "model/presets.hpp"

#include <fmt/format.h>

#include "base/ascii.hpp"
#include "machine/embedded.hpp"
#include "model/toml_value.hpp"

namespace roofline {

namespace {

toml::table all_presets() {
    // The file is ours, and a test reads it.
    toml::parse_result parsed = toml::parse(embedded_presets(), std::string_view{});
    return parsed ? std::move(parsed).table() : toml::table{};
}

}  // namespace

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const auto& entry : all_presets()) names.emplace_back(entry.first.str());
    return names;
}

Result<Config> preset_config(std::string_view name) {
    const std::string wanted = lowered(name);
    std::vector<std::string> beginning;
    const toml::table presets = all_presets();
    for (const auto& [key, node] : presets) {
        const std::string known(key.str());
        if (!known.starts_with(wanted) || wanted.empty()) continue;
        if (known == wanted) {
            beginning = {known};
            break;
        }
        beginning.push_back(known);
    }
    if (beginning.size() > 1) {
        return fail("unknown_model", fmt::format("several models begin with `{}`", wanted.substr(0, 60)),
                    fmt::format("{}", fmt::join(beginning, ", ")));
    }
    if (beginning.empty()) {
        return fail(
            "unknown_model", fmt::format("no model `{}`", name.substr(0, 60)),
            did_you_mean(wanted, preset_names(),
                         "`roofline model --list` has the names; a configuration is a file that ends in .json"));
    }
    Config config;
    config.name = beginning.front();
    config.whole = config_value(*presets.get(config.name));
    if (const ConfigValue* type = config.whole.find("model_type")) config.model_type = type->text;
    return config;
}

}  // namespace roofline
