#include "import/launch/shell_words.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace roofline::core {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
// Parentheses stand around arrays and subshells.
bool ends_command(char c) { return c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')'; }

class ShellReader {
public:
    explicit ShellReader(const Source& source) : source_(source), text_(source.text()) {}

    Result<std::vector<ShellWord>> read() {
        while (at_ < text_.size()) ROOFLINE_CHECK(step());
        end_word();
        return std::move(words_);
    }

private:
    [[nodiscard]] bool continues_line() const {
        return text_.substr(at_).starts_with("\\\n") || text_.substr(at_).starts_with("\\\r\n");
    }

    void begin_word() {
        if (open_) return;
        open_ = true;
        word_ = {};
        word_.offset = at_;
    }

    void end_word() {
        if (open_ && !skipped_) words_.push_back(std::move(word_));
        if (open_) skipped_ = false;
        open_ = false;
    }

    Status step() {
        const char c = text_[at_];
        if (continues_line()) {
            end_word();
            at_ = text_.find('\n', at_) + 1;
        } else if (is_blank(c)) {
            end_word();
            ++at_;
        } else if (ends_command(c)) {
            end_word();
            words_.push_back({"", at_, true, false});
            ++at_;
        } else if (c == '$' && text_.substr(at_).starts_with("$(")) {
            begin_word();  // a substitution, kept as it is written
            word_.expands = true;
            const std::size_t end = std::min(text_.find_first_of(")\n", at_), text_.size() - 1);
            word_.text += text_.substr(at_, end + 1 - at_);
            at_ = end + 1;
        } else if (c == '#' && !open_) {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (c == '<' || c == '>') {
            end_word();
            skipped_ = true;
            ++at_;
        } else if (c == '\'' || c == '"') {
            return quoted(c);
        } else if (c == '\\' && at_ + 1 < text_.size()) {
            begin_word();
            word_.text += text_[at_ + 1];
            at_ += 2;
        } else {
            begin_word();
            word_.expands = word_.expands || c == '$' || c == '`';
            word_.text += c;
            ++at_;
        }
        return {};
    }

    Status quoted(char quote) {
        begin_word();
        const std::size_t begin = at_++;
        while (at_ < text_.size() && text_[at_] != quote) {
            if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
                const char next = text_[at_ + 1];
                if (next == '\n') {
                    at_ += 2;
                    continue;
                }
                if (next == '"' || next == '\\' || next == '$' || next == '`') ++at_;
            } else if (quote == '"' && (text_[at_] == '$' || text_[at_] == '`')) {
                word_.expands = true;
            }
            word_.text += text_[at_++];
        }
        if (at_ >= text_.size()) {
            return source_.fail_at(source_.span(begin), "cut_off", "this quote has no end", "close it");
        }
        ++at_;
        return {};
    }

    const Source& source_;
    std::string_view text_;
    std::size_t at_ = 0;
    bool open_ = false;
    bool skipped_ = false;  ///< the word that follows is the file of a redirection
    ShellWord word_;
    std::vector<ShellWord> words_;
};

}  // namespace

Result<std::vector<ShellWord>> shell_words(const Source& source) { return ShellReader(source).read(); }

}  // namespace roofline::core
