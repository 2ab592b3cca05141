#include "text/source.hpp"

#include <algorithm>

namespace roofline::core {

Span Source::span(std::size_t offset) const {
    const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t last = before.rfind('\n');
    const std::size_t column = last == std::string_view::npos ? before.size() : before.size() - last - 1;
    constexpr std::size_t most = 2'000'000'000;  // columns beyond an int need not be distinguished
    return {static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(line), most)),
            static_cast<int>(std::min(column, most)) + 1};
}

Place Source::place(Span span) const {
    std::size_t begin = 0;
    for (int line = 1; line < span.line; ++line) {
        const std::size_t next = text_.find('\n', begin);
        if (next == std::string_view::npos) break;
        begin = next + 1;
    }
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    std::string_view line = text_.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);

    // A long line is cut to a window around the caret.
    constexpr std::size_t width = 90;
    std::size_t caret = static_cast<std::size_t>(std::max(span.column, 1)) - 1;
    std::string text;
    if (line.size() <= width) {
        text = line;
    } else {
        std::size_t from = caret > width / 2 ? caret - width / 2 : 0;
        while (from > 0 && from < line.size() && (static_cast<unsigned char>(line[from]) & 0xC0U) == 0x80U) --from;
        text = std::string(from > 0 ? "..." : "") + std::string(line.substr(from, width));
        while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
        if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80U) != 0) text.pop_back();
        if (from + width < line.size()) text += "...";
        caret = caret - from + (from > 0 ? 3 : 0);
    }
    return {name_, span.line, span.column, std::move(text), static_cast<int>(caret) + 1};
}

tl::unexpected<Error> Source::fail_at(Span span, std::string code, std::string message, std::string hint) const {
    return fail(Error{std::move(code), std::move(message), std::move(hint), place(span)});
}

}  // namespace roofline::core
