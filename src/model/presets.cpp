#include "model/presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/ascii.hpp"
#include "machine/embedded.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

namespace {

/// What a publisher adds to the name of a model that has the same shapes: "instruct", "v0.1", "2507".
bool is_variant(std::string_view word) {
    constexpr std::array<std::string_view, 8> words{"instruct", "chat", "base", "hf", "it", "pt", "thinking", "v0"};
    if (word.size() == 4 && std::all_of(word.begin(), word.end(), is_digit)) return true;
    const std::size_t dot = word.find('.');
    return std::find(words.begin(), words.end(), word.substr(0, word.starts_with("v0") ? dot : word.size())) !=
           words.end();
}

/// The preset of a name such as "meta-llama/Meta-Llama-3.1-70B-Instruct"; "" where there is none.
std::string published_as(std::string_view name, TomlNode presets) {
    std::string wanted = lowered(name.substr(name.rfind('/') + 1));
    if (wanted.starts_with("meta-")) wanted.erase(0, 5);
    while (!presets.find(wanted)) {
        const std::size_t dash = wanted.rfind('-');
        if (dash == std::string::npos || !is_variant(std::string_view(wanted).substr(dash + 1))) return "";
        wanted.resize(dash);
    }
    return wanted;
}

/// The presets among which a mistyped name is looked for: a size, "-8b", is rather right than the rest, so those of the
/// same size if one of them resembles it.
std::vector<std::string> likely_names(std::string_view wanted) {
    const std::size_t dash = wanted.rfind('-');
    std::vector<std::string> all = preset_names();
    if (dash == std::string_view::npos) return all;
    std::vector<std::string> of_size;
    std::copy_if(all.begin(), all.end(), std::back_inserter(of_size),
                 [&](const std::string& name) { return name.ends_with(wanted.substr(dash)); });
    return nearest(wanted, of_size) ? of_size : all;
}

}  // namespace

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const TomlNode preset : embedded_presets()) names.emplace_back(preset.key());
    return names;
}

Result<Config> preset_config(std::string_view name) {
    const std::string wanted = lowered(name);
    std::vector<std::string> beginning;
    const TomlNode presets = embedded_presets();
    const std::string published = published_as(name, presets);
    if (!published.empty()) beginning = {published};
    for (const TomlNode preset : presets) {
        const std::string_view known = preset.key();
        if (!known.starts_with(wanted) || wanted.empty() || !published.empty()) continue;
        if (known == wanted) {
            beginning = {std::string(known)};
            break;
        }
        beginning.emplace_back(known);
    }
    if (beginning.size() > 1) {
        return fail("unknown_model", fmt::format("several model names begin with `{}`", wanted.substr(0, 60)),
                    fmt::format("{}", fmt::join(beginning, ", ")));
    }
    if (beginning.empty() && wanted.find('/') != std::string::npos) {
        return fail(
            "unknown_model", fmt::format("the model `{}` is not built in", name.substr(0, 80)),
            fmt::format("fetch its configuration, `hf download {} config.json --local-dir .`, and name that file",
                        name.substr(0, 80)));
    }
    if (beginning.empty()) {
        return fail(
            "unknown_model", fmt::format("no model `{}`", name.substr(0, 60)),
            did_you_mean(wanted, likely_names(wanted),
                         "`roofline model --list` lists the names; a configuration is a file that ends in .json"));
    }
    Config config;
    config.name = beginning.front();
    config.whole = file_value(presets.find(config.name));
    if (const FileValue* type = config.whole.find("model_type")) config.model_type = type->text;
    return config;
}

}  // namespace roofline::core
