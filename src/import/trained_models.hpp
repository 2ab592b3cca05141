// The names by which tables of training runs call models, and the configurations that they mean.
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

/// A size that a row has a column for, and the key of a configuration that it is.
using KeyColumn = std::pair<std::string, std::string>;

/// What those who publish runs of a framework mean where their rows do not say it.
struct TrainerHabits {
    std::string selective;  ///< what --remat calls their selective recomputation: "alternate"
    std::string memory;     ///< what their memory counts, "allocated", "reserved" or "used"
    bool unfused = false;   ///< their optimizer is of plain tensor operations
    /// What of it lies in memory: "stored" (logits and log-probabilities in f32), "eager", "compiled".
    std::string loss{};
    std::vector<std::string> unsaid{};      ///< words for what is computed again that say too little for memory
    bool pipeline_buffers = false;          ///< as in FrameworkHabits
    double loss_parts = 1;                  ///< head and loss go over the tokens in so many
    bool late_layers = false;               ///< of a pipeline's stages the last ones have what does not divide
    bool fsdp_units = false;                ///< FSDP as in FrameworkHabits
    bool flat_optimizer = false;            ///< ZeRO as in FrameworkHabits
    bool fused_gradients = false;           ///< as in FrameworkHabits
    bool copied_norm = false;               ///< ZeRO as in FrameworkHabits
    bool whole_tokens = false;              ///< tokens are whole over tensor parallelism, as `no SP` says of a row
    bool stored_attention = false;          ///< scores of attention lie in memory
    bool attention_dropout = false;         ///< of probabilities that lie in memory
    bool pytorch_kernels = false;           ///< their kernels are PyTorch's own
    bool gradients_in_turn = false;         ///< gradients are reduced when the backward pass has ended
    std::vector<std::string> overlapped{};  ///< axes whose collectives run beside products
    bool gib = false;                       ///< what they call GB are GiB
    double context_bytes = 0;               ///< what a process has of a device beside an allocator's blocks
};

class TrainedModels {
public:
    /// data/trained_models.toml, or a text like it, beside data/model_names.toml. Errors carry line and column.
    [[nodiscard]] static Result<TrainedModels> parse(const TomlInput& toml, std::string_view origin);
    [[nodiscard]] static Result<TrainedModels> built_in();

    /// The configuration of the model that the row trained: that of the preset which its name means, with the row's own sizes
    /// in it. Errors, whose message is the reason for which the row cannot be compared: a name that is not known; of a name that stands for models of any size, one that the row
    /// does not say.
    [[nodiscard]] Result<Config> config(const MeasuredTraining& row) const;

    /// Those of a row's publisher; empty ones where nothing is known of it. `table` is what the row was read from there: entries
    /// that name some of these speak for those alone, and likewise those that name words of notes.
    [[nodiscard]] TrainerHabits habits(std::string_view source, std::string_view table = {},
                                       std::string_view notes = {}) const;

private:
    struct Entry {
        std::vector<std::string> names;
        std::vector<std::string> begins;  ///< names that begin so are of models of any size
        std::string preset;
        std::vector<KeyColumn> columns;                         ///< of the row, and the keys that they are
        std::vector<std::pair<std::string, std::string>> sets;  ///< keys and values
    };
    /// That of a name, else of its beginning. Null: the name means no more than a preset.
    [[nodiscard]] const Entry* entry(std::string_view name, bool& any_size) const;

    std::vector<Entry> entries_;
    struct Trainer {
        std::vector<std::string> names;   ///< of sources
        std::vector<std::string> tables;  ///< texts of which one is in the name of a row's table; none: all
        std::vector<std::string> notes;   ///< likewise in its notes
        TrainerHabits habits;
    };
    static Trainer read_trainer(Reader& table);

    std::vector<Trainer> trainers_;  ///< the first that speaks for a row counts
    ModelNames names_;               ///< of presets
};

}  // namespace roofline::core
