#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_columns = 1000;
constexpr std::size_t max_field_bytes = 1'000'000;
constexpr const char* quoting =
    "put a field with commas, quotes or line ends between double quotes, and double each quote in it";

std::string count_text(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Result<CsvReader> CsvReader::open(std::string_view text, std::string source) {
    CsvReader reader(text, std::move(source));
    if (text.starts_with("\xEF\xBB\xBF")) reader.at_ = 3;
    ROOFLINE_TRY(auto found, reader.read_record());
    if (!found) {
        return fail("empty_table", fmt::format("{} is empty", reader.source_.empty() ? "the table" : reader.source_),
                    "the first line of a table must name its columns");
    }
    for (const CsvField& field : reader.fields_) reader.header_.emplace_back(trimmed(field.text));
    ROOFLINE_CHECK(reader.check_header());
    return reader;
}

Status CsvReader::check_header() const {
    std::vector<std::string> sorted = header_;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < header_.size(); ++i) {
        if (header_[i].empty()) {
            return fail_at(fields_[i].offset, "bad_table", fmt::format("column {} has no name", i + 1),
                           "the first line of a table must name its columns");
        }
        if (twice == sorted.end() || header_[i] != *twice) continue;
        if (std::find(header_.begin(), header_.begin() + static_cast<std::ptrdiff_t>(i), *twice) ==
            header_.begin() + static_cast<std::ptrdiff_t>(i)) {
            continue;  // the first of them
        }
        return fail_at(fields_[i].offset, "bad_table", fmt::format("there are two columns {}", in_ticks(*twice)));
    }
    return {};
}

Result<bool> CsvReader::next() {
    auto found = read_record();
    if (!found || !*found || fields_.size() == header_.size()) return found;
    const bool more = fields_.size() > header_.size();
    return fail_at(
        more ? fields_[header_.size()].offset : at_ - 1, "bad_table",
        fmt::format("this line has {}, but the header has {}", count_text(fields_.size(), "field"), header_.size()),
        more ? quoting : "leave unknown fields empty, but write their commas");
}

Result<bool> CsvReader::read_record() {
    fields_.clear();
    unescaped_.clear();
    while (pass_line_end()) continue;  // empty lines
    if (at_ >= text_.size()) return false;
    record_line_ = line_;
    while (true) {
        CsvField field{{}, at_};
        if (fields_.size() == max_columns) {
            return fail_at(at_, "bad_table", fmt::format("a line has more than {} fields", max_columns));
        }
        const bool is_quoted = at_ < text_.size() && text_[at_] == '"';
        ROOFLINE_CHECK(is_quoted ? read_quoted(field) : read_plain(field));
        ROOFLINE_CHECK(check_field(field, !is_quoted));
        fields_.push_back(field);
        if (at_ >= text_.size() || pass_line_end()) return true;
        ++at_;  // the comma
    }
}

Status CsvReader::read_plain(CsvField& field) {
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != ',' && text_[end] != '\n' && text_[end] != '\r' && text_[end] != '"')
        ++end;
    field.text = text_.substr(at_, end - at_);
    at_ = end;
    if (end == text_.size() || text_[end] == ',' || text_[end] == '\n') return {};
    if (text_[end] == '"') {
        return fail_at(end, "bad_table", "a field that does not begin with a quote contains one", quoting);
    }
    if (end + 1 < text_.size() && text_[end + 1] != '\n') {
        return fail_at(end, "bad_table", "a carriage return is not followed by a line feed",
                       "end lines with LF or CRLF");
    }
    return {};
}

// text_[at_] is the opening quote.
Status CsvReader::read_quoted(CsvField& field) {
    std::size_t begin = at_ + 1;
    std::string joined;
    bool doubled = false;
    while (true) {
        const std::size_t quote = text_.find('"', begin);
        if (quote == std::string_view::npos) {
            return fail_at(field.offset, "bad_table", "the quote that opens here is never closed", quoting);
        }
        const std::string_view part = text_.substr(begin, quote - begin);
        at_ = quote + 1;
        if (at_ >= text_.size() || text_[at_] != '"') {
            field.text = part;
            if (doubled) joined += part;
            break;
        }
        doubled = true;
        joined += part;
        joined += '"';
        begin = at_ + 1;
    }
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(field.offset),
                                         text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
    if (doubled) {
        if (unescaped_.capacity() == 0) unescaped_.reserve(max_columns);  // keeps views of them valid
        field.text = unescaped_.emplace_back(std::move(joined));
    }
    const bool closed =
        at_ >= text_.size() || text_[at_] == ',' || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
    if (closed) return {};
    return fail_at(at_, "bad_table", "there is text after the closing quote of a field", quoting);
}

Status CsvReader::check_field(const CsvField& field, bool plain) const {
    if (field.text.size() > max_field_bytes) {
        return fail_at(field.offset, "bad_table", fmt::format("a field has more than {} bytes", max_field_bytes));
    }
    for (std::size_t i = 0; i < field.text.size();) {
        const auto byte = static_cast<unsigned char>(field.text[i]);
        if (byte >= 0x20 && byte < 0x7F) {
            ++i;
            continue;
        }
        const CodePoint c = decode_utf8(field.text.substr(i));
        const bool blank = byte == '\t' || (!plain && (byte == '\n' || byte == '\r'));
        if (!c.valid || (is_control(c) && !blank)) {
            return fail_at(field.offset + (plain ? i : 0), "not_text",
                           c.valid ? fmt::format("a field contains the control character U+{:04X}", c.value)
                                   : fmt::format("a field contains the byte 0x{:02X}, which is not UTF-8", byte),
                           "save the table as UTF-8 text");
        }
        i += c.length;
    }
    return {};
}

// Passes over the end of a line, if there is one.
bool CsvReader::pass_line_end() {
    const std::size_t length = text_.substr(at_, 2) == "\r\n" ? 2 : at_ < text_.size() && text_[at_] == '\n' ? 1 : 0;
    if (length == 0) return false;
    at_ += length;
    ++line_;
    return true;
}

tl::unexpected<Error> CsvReader::fail_at(std::size_t offset, std::string code, std::string message,
                                         std::string hint) const {
    const Source source(text_, source_);
    return source.fail_at(source.span(offset), std::move(code), std::move(message), std::move(hint));
}

}  // namespace roofline::core
