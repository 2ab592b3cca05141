// A file of TOML, parsed safely and read strictly: what every file of this program comes in through.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "machine/reader.hpp"
#include "text/source.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// Owns what its readers point to, so it cannot be moved.
class TomlFile {
public:
    /// Parses at once; whether that went well, status() says. `remedy` goes into the message where it did not.
    TomlFile(const TomlInput& toml, std::string_view origin, std::string remedy = {});
    TomlFile(const TomlFile&) = delete;
    TomlFile& operator=(const TomlFile&) = delete;

    /// The file's own table; without keys when the text is none.
    [[nodiscard]] Reader root() { return {root_, "", problems_, citations_}; }

    /// Uses the strings of the table [sources] as citations for everything read afterwards.
    void read_sources();
    [[nodiscard]] const Citations& citations() const { return citations_; }

    /// The first error found so far, with line and column in bytes.
    [[nodiscard]] Status status() const;

private:
    Source source_;
    Status parsed_;
    TomlDocument own_;  ///< of a text
    TomlNode root_;
    Problems problems_;
    Citations citations_;
};

}  // namespace roofline::core
