#include "text/text_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t longest_line = 1'000'000;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

std::optional<double> number_in(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

Result<TextReader> TextReader::open(std::string_view text, std::string source) {
    TextReader reader(text, std::move(source));
    if (text.starts_with("\xEF\xBB\xBF")) reader.next_ = 3;
    std::size_t line = 0;
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == '\n') line = i + 1;
        if (i > line + longest_line) return reader.fail_at(line, "not_text", "a line has more than a million bytes");
        if ((byte >= 0x20 && byte < 0x7F) || byte == '\n' || byte == '\t' || byte == '\r') {
            ++i;
            continue;
        }
        const CodePoint c = decode_utf8(text.substr(i));
        if (!c.valid || is_control(c)) {
            return reader.fail_at(i, "not_text",
                                  c.valid
                                      ? fmt::format("the file contains the control character U+{:04X}", c.value)
                                      : fmt::format("the file contains the byte 0x{:02X}, which is not UTF-8", byte),
                                  "save the output as UTF-8 text without colours");
        }
        i += c.length;
    }
    return reader;
}

bool TextReader::next() {
    if (next_ >= text_.size()) return false;
    offset_ = next_;
    const std::size_t end = text_.find('\n', offset_);
    ended_ = end != std::string_view::npos;
    next_ = ended_ ? end + 1 : text_.size();
    line_ = text_.substr(offset_, (ended_ ? end : text_.size()) - offset_);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    return true;
}

std::vector<TextWord> TextReader::words() const {
    std::vector<TextWord> words;
    for (std::size_t i = 0; i < line_.size();) {
        if (is_blank(line_[i])) {
            ++i;
            continue;
        }
        std::size_t end = i;
        while (end < line_.size() && !is_blank(line_[end])) ++end;
        words.push_back({line_.substr(i, end - i), offset_ + i});
        i = end;
    }
    return words;
}

tl::unexpected<Error> TextReader::fail_at(std::size_t offset, std::string code, std::string message,
                                          std::string hint) const {
    const Source source(text_, source_);
    return source.fail_at(source.span(offset), std::move(code), std::move(message), std::move(hint));
}

}  // namespace roofline::core
