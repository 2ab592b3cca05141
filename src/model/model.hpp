// A model: an architecture's program with its sizes bound from a configuration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/key_table.hpp"
#include "model/routed_experts.hpp"
#include "notation/notation.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Layers with the same structure.
struct LayerGroup {
    RepeatKind kind;                   ///< their number, and the options and sizes that differ from other groups
    std::string label;                 ///< these differences as text, e.g. "moe, W=512"; "all" if there is one group
    std::vector<std::int64_t> layers;  ///< their numbers, from 0
    std::size_t values_before = 0;     ///< index of their first value in the program
    std::size_t values_after = 0;      ///< index after their last value
};

/// Low-rank adapters that a model's program has (LoRA, arXiv 2106.09685); everything else is frozen.
struct Lora {
    std::int64_t rank = 0;
    /// Projections with adapters, "q_proj"; "q_proj+k_proj" share the first factor.
    std::vector<std::string> on;
    std::optional<Dtype> frozen{};  ///< in which frozen matrices are stored; empty: like all others
};

struct Model {
    std::string name;          ///< of the file or the preset
    std::string model_type;    ///< according to the configuration
    std::string architecture;  ///< "llama"
    Program program;           ///< one forward pass with sizes: batch B = 1, query T and context S tokens
    std::vector<LayerGroup> groups;
    std::int64_t layer_count = 0;
    std::int64_t further_layers = 0;  ///< layers beyond these that predict tokens after the next one
    std::int64_t context = 0;         ///< the longest that the configuration allows
    std::int64_t sequence = 0;        ///< the sequence length of the program
    Sizes sizes;                      ///< all sizes that the table bound
    /// Of causal masks, as the table bound them; in the program they are limited to the sequence.
    Sizes windows{};
    DimRoles roles;  ///< roles of the architecture's dimensions in parallelism
    std::map<std::string, bool, std::less<>> options;
    /// Parameters and the modules of a checkpoint that contain them.
    std::map<std::string, std::string, std::less<>> modules;
    bool embedding_is_active = true;  ///< the publisher's convention for active parameters
    Dtype dtype = Dtype::bf16;        ///< of the weights according to the configuration
    std::optional<Lora> lora{};       ///< empty: all parameters are trained
    std::vector<std::string> notes;
};

/// Assigns the program's values to the groups of layers, whose blocks come in the same order.
void place_groups(Model& model);

/// Binds the tokens of each expert's group if they are divided evenly, rounded up: C = ceil(B T A / E), from the
/// program's sizes.
void bind_groups_of_experts(Program& program);
/// The same for sizes of a program with these experts.
void bind_groups_of_experts(const std::vector<RoutedExperts>& routed, Sizes& sizes);

/// Builds the model of a configuration. `sequence` tokens are query and context; none: the configuration's context.
/// `decoding` selects the form of the model for one query at a time if its table has one. Errors: an unknown model_type
/// (the message names the nearest); missing keys without a default; values of a wrong type, with the key's path;
/// configurations that the table rejects; invalid sizes or numbers of layers; a sequence longer than the model's
/// context.
[[nodiscard]] Result<Model> build_model(const Config& config, std::optional<std::int64_t> sequence,
                                        bool decoding = false);

/// Returns the model for sequences of `sequence` tokens, as build_model() builds it, whatever its context.
[[nodiscard]] Model with_sequence(Model model, std::int64_t sequence);

}  // namespace roofline::core
