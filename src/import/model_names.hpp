// The names by which measurement tables call models, and the presets that they mean.
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

    /// The preset that a name means, whatever the case; a name that is not listed is taken for a preset's own. That there is such a
    /// preset is not checked.
    [[nodiscard]] std::string preset_of(std::string_view name) const;

    [[nodiscard]] std::vector<std::string> presets() const;  ///< those that are named

private:
    struct Entry {
        std::string preset;
        std::vector<std::string> names;
    };
    std::vector<Entry> entries_;
};

}  // namespace roofline::core
