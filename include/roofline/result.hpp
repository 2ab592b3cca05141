// Errors are values: every function that can fail on input returns Result<T>.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace roofline {

/// A place in a text the user gave us. Lines and columns count from 1; a column counts bytes.
struct Place {
    std::string source;  ///< file name, or "" for the command line
    int line = 0;
    int column = 0;
    std::string text;  ///< the line itself, cut to what fits a screen; "" when there is none
    int caret = 0;     ///< column of the caret inside `text`, counted from 1

    bool operator==(const Place&) const = default;
};

/// What went wrong, where, and what to do about it.
struct Error {
    std::string code;     ///< short and stable, for programs: "syntax", "unknown_dimension", ...
    std::string message;  ///< one sentence, no trailing stop
    std::string hint;     ///< the remedy; "" when there is none
    std::optional<Place> place{};

    bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

/// The error as people read it, several lines: message, the line of the text with a caret, the hint.
[[nodiscard]] std::string to_text(const Error& error);

}  // namespace roofline
