// Errors as values, and how they are passed on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "roofline/result.hpp"

namespace roofline::core {

using roofline::Error;
using roofline::Place;
using roofline::Result;
using roofline::Status;
using roofline::to_text;

[[nodiscard]] inline tl::unexpected<Error> fail(std::string code, std::string message, std::string hint = {}) {
    return tl::unexpected<Error>(Error{std::move(code), std::move(message), std::move(hint), {}});
}

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// Passes an error on: if the Result that follows has one, returns it from the enclosing function, and otherwise
/// assigns its value to `declaration`, as in `ROOFLINE_TRY(auto program, parse_program(text));` or
/// `ROOFLINE_TRY(answer.name, name_of(key));`. It is a macro because nothing else can return from the calling function.
#define ROOFLINE_TRY(declaration, ...) ROOFLINE_TRY_AS(ROOFLINE_JOIN(result_, __COUNTER__), declaration, __VA_ARGS__)

/// Passes the error of a Status on: `ROOFLINE_CHECK(check_sizes(program));`.
#define ROOFLINE_CHECK(...) ROOFLINE_CHECK_AS(ROOFLINE_JOIN(status_, __COUNTER__), __VA_ARGS__)

#define ROOFLINE_JOIN(left, right) ROOFLINE_JOIN_EXPANDED(left, right)
#define ROOFLINE_JOIN_EXPANDED(left, right) left##right
#define ROOFLINE_TRY_AS(result, declaration, ...)                          \
    auto result = (__VA_ARGS__);                                           \
    if (!(result)) return roofline::core::fail(std::move(result).error()); \
    declaration = *std::move(result)
#define ROOFLINE_CHECK_AS(status, ...) \
    if (auto status = (__VA_ARGS__); !(status)) return roofline::core::fail(std::move(status).error())

/// The candidate nearest to `word` by edit distance (case folded), when it is near enough to be a likely slip.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Returns "did you mean `X`?" for the nearest candidate, or else `otherwise`.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                                       std::string otherwise = {});

}  // namespace roofline::core
