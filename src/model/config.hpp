// A model's configuration as it was found: keys and values, whatever file they came from. Nothing here knows what a key means.
#pragma once

#include <string>
#include <string_view>

#include "text/value.hpp"

namespace roofline::core {

/// A configuration file.
struct Config {
    std::string name;      ///< of the file, for messages
    FileValue whole;       ///< all of it
    std::string language;  ///< "text_config", where the language model of a larger one has a table of its own; else ""
    std::string model_type;  ///< of the language model
    std::string outer_type;  ///< of the whole, where that is another

    /// The value of a key: the language model's, else the whole's. Null and absent keys alike are none.
    [[nodiscard]] const FileValue* find(std::string_view key) const;

    /// "text_config.hidden_size": where the key is, or would be.
    [[nodiscard]] std::string path(std::string_view key) const;
};

}  // namespace roofline::core
