// Key tables: which architecture a configuration's model_type means, and which of its keys binds what.
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

using Expressions = std::vector<std::pair<std::string, std::string>>;  ///< a name and what it is, in order

/// One file of data/models, with what it takes from its base.
struct KeyTable {
    std::string model_type;
    std::string unsupported;    ///< why no configuration of this type is read; "" for those that are
    std::string architecture;   ///< a file of data/architectures, without its ending
    FileValue defaults;         ///< of the configuration's class: keys it need not have, as a table
    Expressions let;            ///< names for the expressions after them
    Expressions dims;           ///< sizes of dimensions
    Expressions options;        ///< options of the program
    std::string layers;         ///< how many there are
    Expressions layer_dims;     ///< sizes that may differ from layer to layer; the layer's number is `i`, from 0
    Expressions layer_options;  ///< likewise
    Expressions refuse;         ///< a condition, and why such a configuration is not read
    Expressions layer_refuse;   ///< likewise, of a layer
    Expressions notes;          ///< a condition, and what is said then
    Expressions modules;        ///< parameters, and the modules that hold them in the checkpoint
    Expressions expert_groups;  ///< `chosen` and `of`: the groups of experts that a token is limited to
    std::string active =
        "embedding";      ///< whether the publisher counts the input embedding as active: or "no embedding"
    std::string context;  ///< the longest context, in tokens
};

/// The table for a model_type. Errors: none; the nearest is named.
[[nodiscard]] Result<KeyTable> key_table(std::string_view model_type);

/// All model types that are read, aliases included.
[[nodiscard]] std::vector<std::string> known_model_types();

/// Reads one table, without its base. Errors: not TOML, keys that mean nothing.
[[nodiscard]] Result<KeyTable> parse_key_table(const TomlInput& toml, std::string_view origin);

/// The text of an architecture's program; "" when there is none of that name.
[[nodiscard]] std::string_view architecture_text(std::string_view name);

}  // namespace roofline::core
