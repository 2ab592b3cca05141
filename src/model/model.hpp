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
#include "notation/notation.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Layers that are built alike.
struct LayerGroup {
    RepeatKind kind;                   ///< how many, and the options and sizes in which they differ from others
    std::string label;                 ///< those of them that differ, "moe, W=512"; "all" when there is one group
    std::vector<std::int64_t> layers;  ///< their numbers, from 0
    std::size_t values_before = 0;     ///< values of the program from here
    std::size_t values_after = 0;      ///< to here are theirs
};

struct Model {
    std::string name;          ///< the file's, or the preset's
    std::string model_type;    ///< that the configuration gives
    std::string architecture;  ///< "llama"
    Program program;           ///< one forward pass: batch B = 1, query T and context S tokens; sized
    std::vector<LayerGroup> groups;
    std::int64_t layer_count = 0;
    std::int64_t context = 0;   ///< the longest that the configuration says
    std::int64_t sequence = 0;  ///< what the program is sized for
    Sizes sizes;                ///< all that the table bound
    Sizes windows{};            ///< of causal masks, as the table bound them; in the program they end with the sequence
    DimRoles roles;             ///< what the architecture's dimensions are to those who split it
    std::map<std::string, bool, std::less<>> options;
    std::map<std::string, std::string, std::less<>>
        modules;                      ///< parameters and the modules of a checkpoint that hold them
    bool embedding_is_active = true;  ///< the publisher's convention for active parameters
    Dtype dtype = Dtype::bf16;        ///< that the configuration names for the weights
    std::vector<std::string> notes;
};

/// Tokens of each group when they are shared evenly among the experts, rounded up: C = ceil(B T A / E), from the program's sizes.
void bind_groups_of_experts(Program& program);

/// Binds a configuration. `sequence` tokens are query and context; none: the configuration's context. `decoding`: as the
/// model is written for one query at a time, where its table makes a difference. Errors: a model_type that
/// is not known (the nearest is named); keys that are missing and have no default; values of a wrong kind, with the key's path;
/// what the table refuses; sizes that are no sizes, layers without end; a sequence beyond the model's context.
[[nodiscard]] Result<Model> build_model(const Config& config, std::optional<std::int64_t> sequence,
                                        bool decoding = false);

}  // namespace roofline::core
