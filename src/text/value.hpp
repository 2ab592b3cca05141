// The values of a file of nested keys, JSON or TOML: configurations, headers, results of tools. The meaning of keys is
// up to the callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofline::core {

/// One value of such a file. Members keep their order; unused keys are kept.
struct FileValue {
    enum class Kind : std::uint8_t { null, boolean, whole, real, text, list, table };
    Kind kind = Kind::null;
    bool boolean = false;
    std::int64_t whole = 0;
    double real = 0;  ///< also for whole; 1 for true
    std::string text{};
    std::vector<FileValue> items{};
    std::vector<std::pair<std::string, FileValue>> members{};
    std::size_t offset = 0;  ///< of the value's first byte in its file

    /// Returns the member of that name; null if the value is not a table.
    [[nodiscard]] const FileValue* find(std::string_view key) const;
    [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
    [[nodiscard]] bool is_number() const { return kind == Kind::whole || kind == Kind::real; }
    [[nodiscard]] bool is_null() const { return kind == Kind::null; }
};

/// Returns "a text", "a whole number" ... for messages.
[[nodiscard]] std::string_view kind_name(FileValue::Kind kind);

}  // namespace roofline::core
