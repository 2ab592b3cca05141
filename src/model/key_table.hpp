// Key tables map a configuration's model_type to an architecture, and its keys to dimensions and options.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

using Expressions = std::vector<std::pair<std::string, std::string>>;  ///< names and their expressions, in order

/// One file of data/models, merged with its base.
struct KeyTable {
    std::string model_type;
    std::string unsupported;    ///< why configurations of this type are not supported; "" if they are
    std::string architecture;   ///< a file of data/architectures, without its extension
    FileValue defaults;         ///< defaults of the configuration's class for optional keys, as a table
    Expressions let;            ///< names that later expressions can use
    Expressions dims;           ///< sizes of dimensions
    Expressions options;        ///< options of the program
    std::string layers;         ///< number of layers
    std::string further;        ///< number of layers that predict tokens beyond the next one; "": none
    Expressions layer_dims;     ///< sizes that may differ between layers; the layer's number is `i`, from 0
    Expressions layer_options;  ///< options that may differ between layers
    Expressions refuse;         ///< a condition, and why such a configuration is rejected
    Expressions layer_refuse;   ///< the same for a layer
    Expressions notes;          ///< a condition, and the note for it
    Expressions modules;        ///< parameters, and the modules that contain them in the checkpoint
    Expressions expert_groups;  ///< `chosen` and `of`: the groups of experts that a token is limited to
    std::string active =
        "embedding";      ///< whether the publisher counts the input embedding as active: or "no embedding"
    std::string context;  ///< the longest context, in tokens
};

/// The table for a model_type. Error: there is none; the message names the nearest.
[[nodiscard]] Result<KeyTable> key_table(std::string_view model_type);

/// All supported model types, aliases included.
[[nodiscard]] std::vector<std::string> known_model_types();

/// Reads one table, without its base. Errors: not TOML, keys that mean nothing.
[[nodiscard]] Result<KeyTable> parse_key_table(const TomlInput& toml, std::string_view origin);

/// The text of an architecture's program; "" if there is none of that name.
[[nodiscard]] std::string_view architecture_text(std::string_view name);

}  // namespace roofline::core
