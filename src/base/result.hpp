// Errors are values: every function that can fail on user input returns Result<T>.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

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

[[nodiscard]] inline tl::unexpected<Error> fail(std::string code, std::string message, std::string hint = {}) {
    return tl::unexpected<Error>(Error{std::move(code), std::move(message), std::move(hint), {}});
}

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// The message as people read it: message, the line with a caret, the hint.
[[nodiscard]] std::string to_text(const Error& error);

/// The candidate nearest to `word` by edit distance (case folded), when it is near enough to be a likely slip.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean `X`?" for the nearest candidate, else `otherwise`.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                                       std::string otherwise = {});

}  // namespace roofline
