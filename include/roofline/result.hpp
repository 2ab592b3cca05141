// Errors are values: every function that can fail because of its input returns Result<T>.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace roofline {

/// A position in a text that the user provided. Lines and columns count from 1; columns count bytes.
struct Place {
    std::string source;  ///< file name, or "" for the command line
    int line = 0;
    int column = 0;
    std::string text;  ///< the line itself, shortened to fit a screen; "" if there is none
    int caret = 0;     ///< column of the caret in `text`, counted from 1

    bool operator==(const Place&) const = default;
};

/// An error: what went wrong, where, and the remedy.
struct Error {
    std::string code;     ///< short and stable, for programs: "syntax", "unknown_dimension", ...
    std::string message;  ///< one sentence without a final period
    std::string hint;     ///< the remedy; "" if there is none
    std::optional<Place> place{};

    bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

/// Returns the error for people, on several lines: the message, the line of the text with a caret, and the hint.
[[nodiscard]] std::string to_text(const Error& error);

}  // namespace roofline
