// Reads the wire format of protocol buffers: messages of numbered fields, without a schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// The bytes of a file and the first thing that was wrong with them. It outlives the messages read from it.
class ProtoFile {
public:
    /// `name` stands in messages, `what` says what the file should be: "an HLO proto".
    ProtoFile(std::string_view bytes, std::string name, std::string what)
        : bytes_(bytes), name_(std::move(name)), what_(std::move(what)) {}

    [[nodiscard]] std::string_view bytes() const { return bytes_; }
    /// The position of a view into the file.
    [[nodiscard]] std::size_t offset(std::string_view part) const {
        return static_cast<std::size_t>(part.data() - bytes_.data());
    }
    /// An error at a byte of the file.
    [[nodiscard]] tl::unexpected<Error> fail_at(std::size_t offset, std::string code, const std::string& message,
                                                std::string hint = {}) const;
    /// What went wrong first, if anything did.
    [[nodiscard]] Status status() const;
    [[nodiscard]] bool failed() const { return error_.has_value(); }

private:
    friend class ProtoMessage;
    void fail_once(std::size_t offset, std::string code, const std::string& message, std::string hint = {});

    std::string_view bytes_;
    std::string name_;
    std::string what_;
    std::optional<Error> error_;
};

/// Goes through the fields of a message:
///
///     while (message.next()) {
///         switch (message.field()) {
///             case 1: name = message.bytes(); break;
///             case 2: message.add_integers(sizes); break;
///         }
///     }
///
/// Fields that nobody asks for are skipped. An error - a length beyond the end of the message, a field of another wire
/// type than is asked for, messages nested deeper than 100 levels - is kept by the file; from then on next() is false
/// for all its messages, and values are 0 or empty. The caller asks for status() of the file in the end.
class ProtoMessage {
public:
    explicit ProtoMessage(ProtoFile& file) : ProtoMessage(file, file.bytes(), 0) {}

    /// Goes to the next field; false at the end and after an error.
    bool next();
    [[nodiscard]] std::uint32_t field() const { return field_; }
    /// Where the field begins in the file.
    [[nodiscard]] std::size_t offset() const { return offset_; }
    /// Whether the field holds bytes: a string, a message, or packed numbers.
    [[nodiscard]] bool has_bytes() const { return type_ == WireType::bytes; }

    [[nodiscard]] std::int64_t integer();
    [[nodiscard]] bool flag() { return integer() != 0; }
    [[nodiscard]] double float_number();   ///< of type float
    [[nodiscard]] double double_number();  ///< of type double
    [[nodiscard]] std::string_view bytes();
    [[nodiscard]] ProtoMessage message();
    /// Adds the number of a repeated field, or all of them if they are packed.
    void add_integers(std::vector<std::int64_t>& into);
    void add_floats(std::vector<double>& into);
    void add_doubles(std::vector<double>& into);

private:
    enum class WireType : std::uint8_t { varint = 0, eight = 1, bytes = 2, four = 5 };

    ProtoMessage(ProtoFile& file, std::string_view text, int depth) : file_(&file), text_(text), depth_(depth) {}
    /// Takes a number of up to ten bytes from the front of `from`; nothing, and an error, if there is none.
    std::optional<std::uint64_t> take_varint(std::string_view& from);
    bool want(WireType type, std::string_view what);
    template <class Number>
    double fixed(std::string_view bytes) const;
    template <class Number>
    void add_fixed(WireType type, std::vector<double>& into);

    ProtoFile* file_;
    std::string_view text_;  ///< what is not read yet
    int depth_ = 0;
    std::size_t offset_ = 0;
    std::uint32_t field_ = 0;
    WireType type_ = WireType::varint;
    std::uint64_t number_ = 0;
    std::string_view value_;  ///< of fields that are no varint
};

}  // namespace roofline::core
