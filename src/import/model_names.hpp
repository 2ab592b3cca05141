// Maps the names of models in measurement tables to presets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

class ModelNames {
public:
    /// data/model_names.toml, or a text like it. Errors carry line and column.
    [[nodiscard]] static Result<ModelNames> parse(const TomlInput& toml, std::string_view origin);
    [[nodiscard]] static Result<ModelNames> built_in();

    /// The preset that a name means, ignoring case; a name that is not listed is assumed to be a preset's own. The
    /// function does not check that the preset exists.
    [[nodiscard]] std::string preset_of(std::string_view name) const;

    [[nodiscard]] std::vector<std::string> presets() const;  ///< all presets that have names

private:
    struct Entry {
        std::string preset;
        std::vector<std::string> names;
    };
    std::vector<Entry> entries_;
};

}  // namespace roofline::core
