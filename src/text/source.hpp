// A source text, and places in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

/// The place of something in the source text; line and column count from 1, and 0 means no place.
struct Span {
    int line = 0;
    int column = 0;

    /// Spans are always equal, so that programs compare equal regardless of their formatting.
    bool operator==(const Span&) const { return true; }
};

class Source {
public:
    Source(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] Span span(std::size_t offset) const;
    [[nodiscard]] Place place(Span span) const;

    /// Returns an error at a place of this text.
    [[nodiscard]] tl::unexpected<Error> fail_at(Span span, std::string code, std::string message,
                                                std::string hint = {}) const;

private:
    std::string_view text_;
    std::string name_;
};

}  // namespace roofline::core
