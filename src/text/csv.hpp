// A strict reader of comma-separated values (RFC 4180): one record at a time, from a text that it does not copy.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// One field of a record.
struct CsvField {
    std::string_view text;   ///< without its quotes; valid until the next record is read
    std::size_t offset = 0;  ///< of its first byte (its opening quote) in the file
};

/// Reads records in order. Lines end with LF or CRLF; the last one needs no end; a byte order mark at the front and
/// empty lines are skipped. The first record is the header, and every other record has as many fields. Errors carry
/// line and column: a quote inside a field that does not begin with one; text after a closing quote; a quote that is
/// never closed; more or fewer fields than the header; bytes that are not UTF-8, and control characters outside of
/// quotes; more than 1000 columns; a field of more than a million bytes.
class CsvReader {
public:
    /// `text` must outlive the reader; `source` names it in messages. Error: no header, a column without a name or
    /// twice.
    [[nodiscard]] static Result<CsvReader> open(std::string_view text, std::string source);

    [[nodiscard]] const std::vector<std::string>& header() const { return header_; }

    /// Reads the next record. Returns false at the end.
    [[nodiscard]] Result<bool> next();
    [[nodiscard]] const std::vector<CsvField>& record() const { return fields_; }

    /// Makes a cell that is not a number invalidate only its row instead of the whole table. Callers that parse rows
    /// check this setting.
    void leave_out_bad_rows() { lenient_ = true; }
    [[nodiscard]] bool leaves_out_bad_rows() const { return lenient_; }
    /// The line on which the record starts, counted from 1.
    [[nodiscard]] int line() const { return record_line_; }

    /// Returns an error at a byte of the file, with its line and column, and the text of the line.
    [[nodiscard]] tl::unexpected<Error> fail_at(std::size_t offset, std::string code, std::string message,
                                                std::string hint = {}) const;

private:
    CsvReader(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}

    [[nodiscard]] Result<bool> read_record();
    [[nodiscard]] Status read_plain(CsvField& field);
    [[nodiscard]] Status read_quoted(CsvField& field);
    [[nodiscard]] Status check_field(const CsvField& field, bool plain) const;
    [[nodiscard]] Status check_header() const;
    [[nodiscard]] bool pass_line_end();

    std::string_view text_;
    std::string source_;
    bool lenient_ = false;
    std::size_t at_ = 0;  // the next byte to read
    int line_ = 1;
    int record_line_ = 1;
    std::vector<CsvField> fields_;
    std::vector<std::string> unescaped_;  // of this record: fields with doubled quotes, in order of appearance
    std::vector<std::string> header_;
};

}  // namespace roofline::core
