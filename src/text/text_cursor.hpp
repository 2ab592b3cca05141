// A place in a text that a scanner goes through, and errors at places of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "text/source.hpp"

namespace roofline::core {

class TextCursor {
public:
    /// `text` must outlive the cursor; `name` stands in messages.
    TextCursor(std::string_view text, std::string name) : source_(text, std::move(name)), text_(text) {}

    [[nodiscard]] std::size_t at() const { return at_; }
    void go_to(std::size_t offset) { at_ = offset; }
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] std::string_view between(std::size_t from, std::size_t to) const {
        return {text_.data() + from, to - from};
    }
    [[nodiscard]] bool ended() const { return at_ >= text_.size(); }
    /// The next character, or 0 at the end.
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    /// `word` is not empty.
    [[nodiscard]] bool next_is(std::string_view word) const {
        return peek() == word.front() && text_.substr(at_).starts_with(word);
    }

    [[nodiscard]] tl::unexpected<Error> fail_here(std::string code, std::string message, std::string hint = {}) const {
        return fail_at(at_, std::move(code), std::move(message), std::move(hint));
    }
    [[nodiscard]] tl::unexpected<Error> fail_at(std::size_t offset, std::string code, std::string message,
                                                std::string hint = {}) const {
        return source_.fail_at(source_.span(offset), std::move(code), std::move(message), std::move(hint));
    }

protected:
    /// Goes from a quotation mark to behind the one that ends its string; one behind a backslash does not end it.
    /// Returns false at the end of the text if there is none.
    bool skip_quoted() {
        ++at_;
        while (at_ < text_.size()) {
            at_ = std::min(text_.find('"', at_), text_.size());
            std::size_t slashes = 0;
            while (text_[at_ - 1 - slashes] == '\\') ++slashes;
            if (at_ == text_.size()) return false;
            ++at_;
            if (slashes % 2 == 0) return true;
        }
        return false;
    }

    Source source_;
    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace roofline::core
