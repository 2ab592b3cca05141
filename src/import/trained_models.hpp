// Maps the names of models in tables of training runs to configurations.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "import/model_names.hpp"
#include "import/training_table.hpp"
#include "model/config.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

class Reader;

/// A size for which a row has a column, and its key in a configuration.
using KeyColumn = std::pair<std::string, std::string>;

/// The conventions of those who publish runs of a framework, for what their rows do not say.
struct TrainerHabits {
    std::string selective;  ///< value of --remat for their selective recomputation: "alternate"
    std::string memory;     ///< what their memory figures count: "allocated", "reserved" or "used"
    bool unfused = false;   ///< their optimizer consists of separate tensor operations
    /// Storage of the loss: "stored" (logits and log-probabilities in f32), "eager", "compiled".
    std::string loss{};
    std::vector<std::string> unsaid{};  ///< terms for recomputation that are too vague to predict memory
    bool pipeline_buffers = false;      ///< see FrameworkHabits
    double loss_parts = 1;              ///< head and loss process the tokens in so many parts
    /// The last pipeline stages have the extra layers if layers are not divisible.
    bool late_layers = false;
    bool fsdp_units = false;       ///< FSDP as in FrameworkHabits
    bool flat_optimizer = false;   ///< ZeRO as in FrameworkHabits
    bool fused_gradients = false;  ///< see FrameworkHabits
    bool copied_norm = false;      ///< ZeRO as in FrameworkHabits
    /// Tokens are not split by sequence parallelism, as `no SP` in a row's notes says.
    bool whole_tokens = false;
    bool stored_attention = false;          ///< attention scores are stored in memory
    bool attention_dropout = false;         ///< dropout of attention probabilities that are stored in memory
    bool pytorch_kernels = false;           ///< their kernels are those of PyTorch
    bool gradients_in_turn = false;         ///< gradients are reduced after the backward pass has ended
    std::vector<std::string> overlapped{};  ///< axes whose collectives overlap with matmuls
    bool whole_recompute = false;           ///< full recomputation repeats also what nothing reads (Remat::full)
    bool gib = false;                       ///< their GB are GiB
    double context_bytes = 0;               ///< device memory of a process outside the allocator's blocks
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

    /// The conventions of a row's publisher; defaults if nothing is known. `table` is the table that the row comes
    /// from: entries that name tables apply only to these, and entries that name words of notes only to rows with
    /// these.
    [[nodiscard]] TrainerHabits habits(std::string_view source, std::string_view table = {},
                                       std::string_view notes = {}) const;

private:
    struct Entry {
        std::vector<std::string> names;
        std::vector<std::string> begins;  ///< prefixes of names that stand for models of any size
        std::string preset;
        std::vector<KeyColumn> columns;                         ///< columns of the row and their keys
        std::vector<std::pair<std::string, std::string>> sets;  ///< keys and values
    };
    /// The entry of a name, else that of its prefix. Null: the name means nothing but a preset.
    [[nodiscard]] const Entry* entry(std::string_view name, bool& any_size) const;

    std::vector<Entry> entries_;
    struct Trainer {
        std::vector<std::string> names;  ///< names of sources
        /// Texts of which one must occur in the name of a row's table; none: any table.
        std::vector<std::string> tables;
        std::vector<std::string> notes;  ///< the same for its notes
        TrainerHabits habits;
    };
    static Trainer read_trainer(Reader& table);

    std::vector<Trainer> trainers_;  ///< the first entry that applies to a row counts
    ModelNames names_;               ///< names of presets
};

}  // namespace roofline::core
