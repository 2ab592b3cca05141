// A model's configuration: keys and values, whatever file they come from. Nothing here interprets a key.
#pragma once

#include <string>
#include <string_view>

#include "text/value.hpp"

namespace roofline::core {

/// A configuration file.
struct Config {
    std::string name;        ///< name of the file, for messages
    FileValue whole;         ///< the complete table
    std::string language;    ///< "text_config" if the language model of a multimodal model has its own table; else ""
    std::string model_type;  ///< of the language model
    std::string outer_type;  ///< of the whole model, if different

    /// The value of a key in the language model's table, else in the whole table. Null for absent keys and for null
    /// values.
    [[nodiscard]] const FileValue* find(std::string_view key) const;

    /// Path of a key that exists or is missing: "text_config.hidden_size".
    [[nodiscard]] std::string path(std::string_view key) const;
};

}  // namespace roofline::core
