// A text, and how to point at a place in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

/// Where in the source text something stands; line and column count from 1, 0 means nowhere.
struct Span {
    int line = 0;
    int column = 0;

    /// Two programs are equal whatever their layout on the page.
    bool operator==(const Span&) const { return true; }
};

class Source {
public:
    Source(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] Span span(std::size_t offset) const;
    [[nodiscard]] Place place(Span span) const;

    /// An error at a place of this text.
    [[nodiscard]] tl::unexpected<Error> fail_at(Span span, std::string code, std::string message,
                                                std::string hint = {}) const;

private:
    std::string_view text_;
    std::string name_;
};

}  // namespace roofline::core
