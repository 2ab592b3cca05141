// Maps the names of models in tables of training runs to configurations, and says what is known of their trainers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "import/model_names.hpp"
#include "import/trainers.hpp"
#include "import/training_table.hpp"
#include "model/config.hpp"
#include "model/lora.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// A size for which a row has a column, and its key in a configuration.
using KeyColumn = std::pair<std::string, std::string>;

/// The adapters of a published run, which its row does not describe.
struct TrainedAdapters {
    LoraOptions options{};
    std::vector<std::string> exposed{};  ///< axes whose collectives do not overlap, whatever the row says
};

class TrainedModels {
public:
    /// data/trained_models.toml, or a text like it, beside data/model_names.toml. Errors carry line and column.
    [[nodiscard]] static Result<TrainedModels> parse(const TomlInput& toml, std::string_view origin);
    [[nodiscard]] static Result<TrainedModels> built_in();

    /// The configuration of the model that the row trained: that of the preset which its name means, with the row's own
    /// sizes. Errors, whose message is the reason why the row cannot be compared: an unknown name; a missing size for a
    /// name that stands for models of any size.
    [[nodiscard]] Result<Config> config(const MeasuredTraining& row) const;

    /// The adapters of a row that trained only these, by its publisher's entry `[[lora]]`; `products` is the dtype of
    /// its matmuls, empty for 16 bits. The message of the error is the reason why the row cannot be compared: nothing
    /// is known of the adapters.
    [[nodiscard]] Result<TrainedAdapters> adapters(const MeasuredTraining& row, std::optional<Dtype> products) const;

    /// What is known of frameworks and of those who publish runs.
    [[nodiscard]] const Trainers& trainers() const { return trainers_; }

private:
    struct Entry {
        std::vector<std::string> names;
        std::vector<std::string> begins;  ///< prefixes of names that stand for models of any size
        std::string preset;
        std::vector<KeyColumn> columns;                         ///< columns of the row and their keys
        std::vector<std::pair<std::string, std::string>> sets;  ///< keys and values
    };
    struct Adapters {
        std::vector<std::string> names;    ///< names of sources
        std::vector<std::string> presets;  ///< models
        bool narrow = false;               ///< frozen matrices are stored in the dtype of matmuls
        TrainedAdapters adapters;
    };
    static Adapters read_adapters(Reader& table);
    /// The entry of a name, else that of its prefix. Null: the name means nothing but a preset.
    [[nodiscard]] const Entry* entry(std::string_view name, bool& any_size) const;

    std::vector<Entry> entries_;
    std::vector<Adapters> adapters_;
    Trainers trainers_;
    ModelNames names_;  ///< names of presets
};

}  // namespace roofline::core
