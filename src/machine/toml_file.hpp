// A TOML text, parsed safely and read strictly: every TOML file of this program is read through it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "machine/reader.hpp"
#include "text/source.hpp"
#include "text/toml.hpp"

namespace roofline::core {

/// Owns what its readers point to, so it cannot be moved.
class TomlFile {
public:
    /// Parses immediately; status() tells whether it succeeded. `remedy` becomes part of the message if it did not.
    TomlFile(std::string_view toml, std::string_view origin, std::string remedy = {});
    TomlFile(const TomlFile&) = delete;
    TomlFile& operator=(const TomlFile&) = delete;

    /// The root table of the file; it has no keys if the text is not valid TOML.
    [[nodiscard]] Reader root() { return {table_, "", problems_, citations_}; }

    /// Uses the strings of the table [sources] as citations for everything read afterwards.
    void read_sources();
    [[nodiscard]] const Citations& citations() const { return citations_; }

    /// The first error found so far, with line and column in bytes.
    [[nodiscard]] Status status() const;

private:
    [[nodiscard]] Span span_of(toml::source_position at) const;

    Source source_;
    Status parsed_;
    toml::table table_;
    Problems problems_;
    Citations citations_;
};

}  // namespace roofline::core
