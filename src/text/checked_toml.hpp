// A fast reader of those TOML files that the build has checked: files of data/ in a program that has to be small (the
// page), which reads them when they are first asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/toml_node.hpp"

namespace roofline::core {

/// A text of TOML that TomlDocument::parse() reads without an error. It is read several times as fast as there, and
/// nothing is checked twice; tools/embed_data.cpp compares what both make of each file. Not understood, because no file
/// of data/ has them: dates, digits with underscores, other bases, most escapes, strings of several lines in single
/// quotes.
class CheckedToml {
public:
    /// None for a text that it does not understand.
    [[nodiscard]] static std::optional<CheckedToml> read(std::string_view text);

    /// Its nodes stay where they are when the document is moved, and are there as long as it is.
    [[nodiscard]] TomlNode root() const { return {*all_, 0}; }

private:
    std::vector<TomlRecord> records_;
    std::vector<char> texts_;
    std::unique_ptr<TomlRecords> all_;
};

/// Whether both have the same values, kinds, keys and places.
[[nodiscard]] bool same_toml(TomlNode a, TomlNode b);

}  // namespace roofline::core
