#include "import/model_names.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

Result<ModelNames> ModelNames::parse(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    ModelNames names;
    for (Reader& table : file.each("model")) {
        Entry entry{table.required_text("preset"), table.texts("names")};
        table.text("note");
        if (entry.names.empty()) table.fault("names", "missing", "[[model]] has no names");
        table.finish();
        names.entries_.push_back(std::move(entry));
    }
    file.finish();
    ROOFLINE_CHECK(text.status());
    return names;
}

Result<ModelNames> ModelNames::built_in() { return parse(embedded_model_names(), "model_names.toml"); }

std::string ModelNames::preset_of(std::string_view name) const {
    const std::string wanted = lowered(name);
    for (const Entry& each : entries_) {
        if (std::any_of(each.names.begin(), each.names.end(),
                        [&](const std::string& known) { return lowered(known) == wanted; })) {
            return each.preset;
        }
    }
    return wanted;
}

std::vector<std::string> ModelNames::presets() const {
    std::vector<std::string> all;
    for (const Entry& each : entries_) all.push_back(each.preset);
    return all;
}

}  // namespace roofline::core
