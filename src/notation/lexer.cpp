#include "notation/lexer.hpp"

#include <fmt/format.h>

#include <array>

namespace roofline::core {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A spelling of an operator that is not ASCII, and its meaning.
struct Spelling {
    std::string_view written;
    std::string_view means;
};
constexpr std::array<Spelling, 4> spellings{{{"\xC2\xB7", "*"},         // middle dot
                                             {"\xC3\x97", "*"},         // multiplication sign
                                             {"\xE2\x8B\x85", "*"},     // dot operator
                                             {"\xE2\x86\x92", "->"}}};  // arrow

class Lexer {
public:
    explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

    Result<std::vector<Token>> run() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '\n' || c == ';') {
                push(TokenKind::newline, 1);
                if (c == '\n') {
                    ++line_;
                    line_begin_ = at_;
                }
            } else if (c == ' ' || c == '\t' || c == '\r') {
                ++at_;
            } else if (c == '#') {
                while (at_ < text_.size() && text_[at_] != '\n') ++at_;
            } else if (is_letter(c)) {
                push(TokenKind::word, word_length());
            } else if (is_digit(c)) {
                push(TokenKind::number, number_length());
            } else
                ROOFLINE_CHECK(symbol());
        }
        push(TokenKind::end, 0);
        return std::move(tokens_);
    }

private:
    [[nodiscard]] Span here() const {
        constexpr std::size_t most = 2'000'000'000;
        return {line_, static_cast<int>(std::min(at_ - line_begin_, most)) + 1};
    }

    void push(TokenKind kind, std::size_t length) {
        tokens_.push_back({kind, text_.substr(at_, length), here()});
        at_ += length;
    }

    [[nodiscard]] std::size_t word_length() const {
        std::size_t end = at_;
        while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
        return end - at_;
    }

    [[nodiscard]] std::size_t number_length() const {
        std::size_t end = at_;
        while (end < text_.size()) {
            const char c = text_[end];
            const bool exponent_sign = (c == '+' || c == '-') && end > at_ &&
                                       (text_[end - 1] == 'e' || text_[end - 1] == 'E') && end + 1 < text_.size() &&
                                       is_digit(text_[end + 1]);
            if (!is_letter(c) && !is_digit(c) && c != '.' && !exponent_sign) break;
            if (c == '_') break;  // In `4096_X` the subscript is a separate token.
            ++end;
        }
        return end - at_;
    }

    Status symbol() {
        const std::string_view rest = text_.substr(at_);
        if (rest.starts_with("->")) {
            push(TokenKind::symbol, 2);
            return {};
        }
        constexpr std::string_view singles = "[]{}(),:=*/+-.";
        if (singles.find(rest[0]) != std::string_view::npos) {
            push(TokenKind::symbol, 1);
            return {};
        }
        if (rest[0] == '@') {
            tokens_.push_back({TokenKind::symbol, "*", here()});
            ++at_;
            return {};
        }
        for (const Spelling& spelling : spellings) {
            if (rest.starts_with(spelling.written)) {
                tokens_.push_back({TokenKind::symbol, spelling.means, here()});
                at_ += spelling.written.size();
                return {};
            }
        }
        const auto byte = static_cast<unsigned char>(rest[0]);
        if (byte < 0x20 || byte == 0x7F || byte >= 0x80) {
            return source_.fail_at(here(), "not_text", fmt::format("byte 0x{:02X} is not part of the notation", byte),
                                   "a program is plain text; ASCII is always enough");
        }
        return source_.fail_at(here(), "syntax", fmt::format("`{}` has no meaning here", rest[0]),
                               "operators are * @ + - / and ->; names consist of letters, digits and _");
    }

    const Source& source_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_begin_ = 0;
    int line_ = 1;
    std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(const Source& source) { return Lexer(source).run(); }

std::string describe(const Token& token) {
    switch (token.kind) {
        case TokenKind::newline:
            return token.text == ";" ? "`;`" : "the end of the line";
        case TokenKind::end:
            return "the end of the text";
        default:
            return fmt::format("`{}`", token.text.substr(0, 40));
    }
}

}  // namespace roofline::core
