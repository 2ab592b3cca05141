// A model's configuration as it was found: keys and values, whatever file they came from. Nothing here knows what a key means.
// Other files of nested keys (headers, results of tools) are read to the same values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofline {

/// One value of a configuration. Members keep their order; keys that nobody asks for stay.
struct ConfigValue {
    enum class Kind : std::uint8_t { null, boolean, whole, real, text, list, table };
    Kind kind = Kind::null;
    bool boolean = false;
    std::int64_t whole = 0;
    double real = 0;  ///< of whole as well; 1 of true
    std::string text{};
    std::vector<ConfigValue> items{};
    std::vector<std::pair<std::string, ConfigValue>> members{};
    std::size_t offset = 0;  ///< of the value's first byte in its file

    /// The member of that name; none of a value that is no table.
    [[nodiscard]] const ConfigValue* find(std::string_view key) const;
    [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
    [[nodiscard]] bool is_number() const { return kind == Kind::whole || kind == Kind::real; }
    [[nodiscard]] bool is_null() const { return kind == Kind::null; }
};

/// "a text", "a whole number" ... for messages.
[[nodiscard]] std::string_view kind_name(ConfigValue::Kind kind);

/// A configuration file.
struct Config {
    std::string name;      ///< of the file, for messages
    ConfigValue whole;     ///< all of it
    std::string language;  ///< "text_config", where the language model of a larger one has a table of its own; else ""
    std::string model_type;  ///< of the language model
    std::string outer_type;  ///< of the whole, where that is another

    /// The value of a key: the language model's, else the whole's. Null and absent keys alike are none.
    [[nodiscard]] const ConfigValue* find(std::string_view key) const;

    /// "text_config.hidden_size": where the key is, or would be.
    [[nodiscard]] std::string path(std::string_view key) const;
};

}  // namespace roofline
