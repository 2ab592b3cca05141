// A reader of the plain-text output of other tools, line by line and word by word.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// A word of a line: a run of characters other than blanks.
struct TextWord {
    std::string_view text;
    std::size_t offset = 0;  ///< of its first byte in the file
};

/// Parses a decimal number that fills the whole text: "12", "1.5e9". Empty if it is not a number, or not finite.
[[nodiscard]] std::optional<double> number_in(std::string_view text);

class TextReader {
public:
    /// `text` must outlive the reader; `source` names it in messages. Errors, with line and column: bytes that are not
    /// UTF-8, control characters other than tabs and line ends, lines of more than a million bytes.
    [[nodiscard]] static Result<TextReader> open(std::string_view text, std::string source);

    /// Goes to the next line. Returns false at the end.
    bool next();
    [[nodiscard]] std::string_view line() const { return line_; }  ///< without its end
    [[nodiscard]] std::size_t offset() const { return offset_; }   ///< of the line
    [[nodiscard]] int number() const { return number_; }           ///< of the line, from 1
    [[nodiscard]] bool ended() const {
        return ended_;
    }  ///< whether the line has its end: the last one may have been cut off
    [[nodiscard]] std::vector<TextWord> words() const;
    /// Returns the offset of `part`, a piece of the text.
    [[nodiscard]] std::size_t offset_of(std::string_view part) const {
        return static_cast<std::size_t>(part.data() - text_.data());
    }
    [[nodiscard]] const std::string& source() const { return source_; }

    [[nodiscard]] tl::unexpected<Error> fail_at(std::size_t offset, std::string code, std::string message,
                                                std::string hint = {}) const;

private:
    TextReader(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}

    std::string_view text_;
    std::string source_;
    std::string_view line_;
    std::size_t offset_ = 0;
    std::size_t next_ = 0;
    int number_ = 0;
    bool ended_ = false;
};

}  // namespace roofline::core
