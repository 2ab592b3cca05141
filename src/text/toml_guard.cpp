#include "text/toml_guard.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/utf8.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t largest = 1'000'000;
constexpr std::size_t deepest = 32;

/// Most characters have no meaning to the scan, wherever they are.
constexpr std::array<bool, 256> plain = [] {
    std::array<bool, 256> all{};
    for (std::size_t c = 0; c < 0x80; ++c)
        all[c] = std::string_view("[]{}\"'#.=,\n").find(static_cast<char>(c)) == std::string_view::npos;
    return all;
}();

/// Follows a TOML text just far enough to distinguish strings and comments from the rest.
class StructureScan {
public:
    explicit StructureScan(std::string_view text) : text_(text) {}

    /// Returns the first fault and its byte.
    std::optional<TomlFault> fault() {
        if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // a byte order mark
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (plain[static_cast<unsigned char>(c)]) {
                ++at_;
                continue;
            }
            if (static_cast<unsigned char>(c) >= 0x80) {
                return TomlFault{at_, "toml", "this is not valid TOML: a non-ASCII character outside of a string",
                                 "put strings between double quotes; docs/reference/machine-files.md has an example"};
            }
            if (c == '[' && open_.empty() && !follows_equals() && !names_table()) {
                return TomlFault{at_, "toml", "this is not valid TOML: no table name after `[`", {}};
            }
            const bool second_equals = c == '=' && (in_value_ || open_.ends_with('['));
            if (second_equals || ((c == '[' || c == '{') && follows_word())) {
                return TomlFault{at_, "toml", fmt::format("this is not valid TOML: `{}` in the wrong place", c), {}};
            }
            if (c == '"' || c == '\'') {
                const std::size_t opened = at_;
                if (continues_value() || !skip_string(c)) {
                    return TomlFault{
                        opened, "toml", "this is not valid TOML: a string begins or ends in the wrong place",
                        "put strings between double quotes; docs/reference/machine-files.md has an example"};
                }
                continue;
            }
            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
                continue;
            }
            if ((c == ']' || c == '}') && (open_.empty() || open_.back() != (c == ']' ? '[' : '{'))) {
                return TomlFault{at_, "toml", fmt::format("this is not valid TOML: `{}` closes nothing", c), {}};
            }
            if (!count(c)) {
                return TomlFault{at_, "too_deep", fmt::format("keys or brackets nested more than {} deep", deepest),
                                 "a machine file needs four levels; see docs/reference/machine-files.md"};
            }
            ++at_;
        }
        return std::nullopt;
    }

private:
    [[nodiscard]] bool follows_equals() const {
        const std::size_t before = text_.substr(0, at_).find_last_not_of(" \t");
        return before != std::string_view::npos && text_[before] == '=';
    }

    // The parser assumes that a table's header continues with a key (or the bracket that ends it).
    [[nodiscard]] bool names_table() const {
        std::size_t next = text_.find_first_not_of(" \t", at_ + 1);
        if (next == at_ + 1 && text_[next] == '[') next = text_.find_first_not_of(" \t", next + 1);
        if (next == std::string_view::npos) return false;
        const char c = text_[next];
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_-\"']").find(c) != std::string_view::npos;
    }

    [[nodiscard]] bool begins_text() const { return at_ == (text_.starts_with("\xEF\xBB\xBF") ? 3U : 0U); }

    // A quote or a bracket that continues a value, such as a number or a word: the parser would treat what follows as
    // part of it. So it does after a second `=`.
    [[nodiscard]] bool continues_value() const {
        if (begins_text()) return false;
        const char c = text_[at_ - 1];
        return std::string_view(" \t\n=,[{.").find(c) == std::string_view::npos || (c == '.' && in_value_);
    }

    [[nodiscard]] bool follows_word() const { return continues_value() || (at_ > 0 && text_[at_ - 1] == '.'); }

    bool count(char c) {
        if (c == '.') {
            ++dots_;
        } else if (c == '=' || c == ',' || c == '\n' || c == '{') {
            dots_ = 0;
            in_value_ = c == '=';
        }
        if (c == '[' || c == '{') open_ += c;
        if (c == ']' || c == '}') open_.pop_back();
        return dots_ <= deepest && open_.size() <= deepest;
    }

    // The parser has undefined behaviour for a non-ASCII character where it skips whitespace after a backslash.
    [[nodiscard]] bool non_ascii_follows_line_end() const {
        const std::size_t next = text_.find_first_not_of(" \t\r\n", at_ + 1);
        return next != std::string_view::npos && static_cast<unsigned char>(text_[next]) >= 0x80;
    }

    /// Returns false for a string that does not end, or that the parser cannot handle.
    bool skip_string(char quote) {
        const std::string triple(3, quote);
        const bool several_lines = text_.substr(at_, 3) == triple;
        at_ += several_lines ? 3 : 1;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '\\' && quote == '"') {
                if (several_lines && non_ascii_follows_line_end()) return false;
                at_ += 2;
            } else if (several_lines && text_.substr(at_, 3) == triple) {
                at_ += 3;
                // The last two quotes before the end may belong to the string.
                for (int own = 0; own < 2 && at_ < text_.size() && text_[at_] == quote; ++own) ++at_;
                return true;
            } else if (!several_lines && (c == quote || c == '\n')) {
                ++at_;
                return c == quote;
            } else {
                ++at_;
            }
        }
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t dots_ = 0;
    bool in_value_ = false;  ///< after an `=`
    std::string open_;       ///< brackets that are not closed yet
};

}  // namespace

std::optional<TomlFault> toml_fault(std::string_view text) {
    if (text.size() > largest) {
        return TomlFault{0, "too_large", fmt::format("the machine file has {} bytes", text.size()),
                         fmt::format("machine files have a few thousand bytes; the maximum is {}", largest)};
    }
    for (std::size_t at = 0; at < text.size();) {
        if (static_cast<unsigned char>(text[at] - 1) < 0x7F) {  // ASCII, the common case
            ++at;
            continue;
        }
        const CodePoint c = decode_utf8(text.substr(at));
        if (!c.valid || c.value == 0) {
            return TomlFault{at, "not_text", "this is not UTF-8 text",
                             "a machine file is TOML; see docs/reference/machine-files.md"};
        }
        at += c.length;
    }
    return StructureScan(text).fault();
}

}  // namespace roofline::core
