// What is known of those who train models: how a framework runs a step, by version, and what publishers of runs mean
// where their rows do not say it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "plan/pipeline.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

class Reader;

/// How a framework runs a step, and the conventions of those who publish runs of it, for what their rows do not say.
struct TrainerHabits {
    std::string selective{};  ///< value of --remat for their selective recomputation: "alternate"
    /// Names of recomputation policies, each with its value of --remat: "qkv_proj_offloaded" is "Q,Kc,Vc".
    std::vector<std::pair<std::string, std::string>> policies{};
    /// How their rates in FLOP/s count attention: "full" or "causal"; "" if it is not known.
    std::string flops{};
    bool chip_batch = false;  ///< what their tables call a micro-batch is the batch of a chip in a step
    std::string memory{};     ///< what their memory figures count: "allocated", "reserved" or "used"
    bool unfused = false;     ///< their optimizer consists of separate tensor operations
    /// Storage of the loss: "stored" (logits and log-probabilities in f32), "eager", "compiled".
    std::string loss{};
    std::vector<std::string> unsaid{};  ///< terms for recomputation that are too vague to predict memory
    bool pipeline_buffers = false;      ///< see FrameworkHabits
    double loss_parts = 1;              ///< head and loss process the tokens in so many parts
    /// The last pipeline stages have the extra layers if layers are not divisible.
    bool late_layers = false;
    bool fsdp_units = false;               ///< FSDP as in FrameworkHabits
    bool flat_optimizer = false;           ///< ZeRO as in FrameworkHabits
    bool fused_gradients = false;          ///< see FrameworkHabits
    bool f32_gradients = false;            ///< gradients are stored in f32
    std::optional<Dtype> kept_products{};  ///< see TrainingOptions
    bool copied_norm = false;              ///< ZeRO as in FrameworkHabits
    /// Tokens are not split by sequence parallelism, as `no SP` in a row's notes says.
    bool whole_tokens = false;
    bool stored_attention = false;          ///< attention scores are stored in memory
    double capacity = 0;                    ///< capacity factor of experts, see limit_experts(); 0: no token is dropped
    bool attention_dropout = false;         ///< dropout of attention probabilities that are stored in memory
    bool pytorch_kernels = false;           ///< their kernels are those of PyTorch
    bool compiled = false;                  ///< a step is one program of XLA: see CompiledStepModel
    bool gradients_in_turn = false;         ///< gradients are reduced after the backward pass has ended
    std::vector<std::string> overlapped{};  ///< axes whose collectives overlap with matmuls
    /// Full recomputation repeats also what nothing reads; otherwise it stops at the last tensor that is read, as
    /// compilers and early stopping do.
    bool whole_recompute = false;
    std::vector<Schedule> schedules{};  ///< of pipelines, that it has; empty: all
    bool caching_allocator = false;     ///< memory is that of blocks, which are more than the tensors in them
    bool gib = false;                   ///< their GB are GiB
    double context_bytes = 0;           ///< device memory of a process outside the allocator's blocks
};

/// A framework with what is known of it.
struct Framework {
    std::string name{};     ///< "nemo"
    std::string version{};  ///< as it was asked for, "25.09"; "": the newest
    std::string since{};    ///< the version from which this holds; "": any
    std::string note{};     ///< in words, with sources
    TrainerHabits habits{};
    /// None was named: its times are those that are predicted, because the others differ from them; nothing else of it
    /// is assumed.
    bool by_default = false;
};

/// A row of a table of runs, as far as it tells which entries hold for it.
struct PublishedRun {
    std::string_view source{};
    std::string_view table{};
    std::string_view model{};
    std::string_view dtype{};
};

/// What a publisher's recipe sets that the rows of its results do not say.
struct Recipe {
    std::string remat{};     ///< value of --remat; "": not known
    std::string sharding{};  ///< as a table has it, "fsdp"; "": not known
    double capacity = 0;     ///< capacity factor of experts, see limit_experts(); 0: no token is dropped
};

/// The entries `[[trainer]]`, `[[recipe]]` and `[[default_framework]]` of data/trained_models.toml.
class Trainers {
public:
    /// Errors are left in the reader.
    [[nodiscard]] static Trainers read(Reader& file);

    /// The conventions of a row's publisher; defaults if nothing is known. `table` is the table that the row comes
    /// from: entries that name tables apply only to these, and entries that name words of notes only to rows with
    /// these.
    [[nodiscard]] TrainerHabits habits(std::string_view source, std::string_view table = {},
                                       std::string_view notes = {}) const;

    /// The recipe of a run, the first entry that applies; defaults if none is known.
    [[nodiscard]] Recipe recipe(const PublishedRun& run) const;

    /// The framework that `words` name, "nemo" or "nemo-25.09": of several entries the one that holds from the newest
    /// version up to the given one. Errors: an unknown name, with the known ones; a version before all that are known.
    [[nodiscard]] Result<Framework> framework(std::string_view words) const;

    /// The framework whose times are predicted for a vendor's machines where none is named.
    [[nodiscard]] std::optional<Framework> default_framework(std::string_view vendor) const;

    /// Short names of frameworks, in the order of the file.
    [[nodiscard]] std::vector<std::string> frameworks() const;

private:
    struct Trainer {
        std::vector<std::string> names;  ///< names of sources
        /// Texts of which one must occur in the name of a row's table; none: any table.
        std::vector<std::string> tables;
        std::vector<std::string> notes;       ///< the same for its notes
        std::vector<std::string> frameworks;  ///< short names of the framework
        std::string since;                    ///< its version
        std::string note;
        TrainerHabits habits;
    };
    struct Default {
        std::vector<std::string> vendors;
        std::string framework;
        std::string note;
    };
    struct Published {
        std::vector<std::string> names;   ///< names of sources
        std::vector<std::string> tables;  ///< texts of which one must occur, as those of a trainer; none: any
        std::vector<std::string> models;  ///< likewise in the model's name
        std::vector<std::string> dtypes;  ///< the dtype is one of these; none: any
        Recipe recipe;
    };
    static Trainer read_trainer(Reader& table);
    static Published read_recipe(Reader& table);

    std::vector<Trainer> trainers_;  ///< the first entry that applies to a row counts
    std::vector<Published> recipes_;
    std::vector<Default> defaults_;
};

}  // namespace roofline::core
