#include "text/protobuf.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace roofline::core {

namespace {

constexpr int deepest_message = 100;  // the limit of Google's own readers

}  // namespace

tl::unexpected<Error> ProtoFile::fail_at(std::size_t offset, std::string code, const std::string& message,
                                         std::string hint) const {
    return fail(std::move(code), fmt::format("{}: byte {}: {}", name_, offset, message), std::move(hint));
}

Status ProtoFile::status() const {
    if (error_) return fail(*error_);
    return {};
}

void ProtoFile::fail_once(std::size_t offset, std::string code, const std::string& message, std::string hint) {
    if (failed()) return;
    if (hint.empty()) hint = fmt::format("the file may be cut off or damaged, or be no {}", what_);
    error_ = fail_at(offset, std::move(code), message, std::move(hint)).value();
}

std::optional<std::uint64_t> ProtoMessage::take_varint(std::string_view& from) {
    constexpr std::size_t longest = 10;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < longest; ++i) {
        if (i == from.size()) {
            file_->fail_once(file_->offset(from), "cut_off", "the file ends inside a number");
            return std::nullopt;
        }
        const auto byte = static_cast<unsigned char>(from[i]);
        if (i + 1 == longest && byte > 1) break;  // the tenth byte has the 64th bit
        number |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
        if (byte < 0x80U) {
            from.remove_prefix(i + 1);
            return number;
        }
    }
    file_->fail_once(file_->offset(from), "bad_proto", "a number is longer than 64 bits");
    return std::nullopt;
}

bool ProtoMessage::next() {
    if (text_.empty() || file_->failed()) return false;
    offset_ = file_->offset(text_);
    const auto key = take_varint(text_);
    if (!key) return false;
    constexpr std::uint64_t most_fields = std::uint64_t{1} << 29;
    if (*key >> 3 == 0 || *key >> 3 >= most_fields) {
        file_->fail_once(offset_, "bad_proto", fmt::format("there is no field {}", *key >> 3));
        return false;
    }
    field_ = static_cast<std::uint32_t>(*key >> 3);
    type_ = static_cast<WireType>(*key & 7U);
    number_ = 0;
    value_ = {};
    std::uint64_t length = 0;
    switch (type_) {
        case WireType::varint: {
            const auto number = take_varint(text_);
            number_ = number.value_or(0);
            return number.has_value();
        }
        case WireType::eight:
            length = 8;
            break;
        case WireType::four:
            length = 4;
            break;
        case WireType::bytes: {
            const auto own = take_varint(text_);
            if (!own) return false;
            length = *own;
            break;
        }
        default:
            file_->fail_once(offset_, "bad_proto",
                             fmt::format("field {} has the wire type {}, which no field has", field_, *key & 7U));
            return false;
    }
    if (length > text_.size()) {
        file_->fail_once(
            offset_, "cut_off",
            fmt::format("field {} has {} bytes, but its message ends after {}", field_, length, text_.size()));
        return false;
    }
    value_ = text_.substr(0, length);
    text_.remove_prefix(length);
    return true;
}

bool ProtoMessage::want(WireType type, std::string_view what) {
    if (type_ == type) return !file_->failed();
    file_->fail_once(offset_, "bad_proto", fmt::format("field {} is no {}", field_, what));
    return false;
}

std::int64_t ProtoMessage::integer() {
    return want(WireType::varint, "whole number") ? static_cast<std::int64_t>(number_) : 0;
}

std::string_view ProtoMessage::bytes() {
    return want(WireType::bytes, "text and no message") ? value_ : std::string_view();
}

ProtoMessage ProtoMessage::message() {
    if (depth_ >= deepest_message) file_->fail_once(offset_, "too_deep", "messages are nested deeper than 100 levels");
    return {*file_, bytes(), depth_ + 1};
}

void ProtoMessage::add_integers(std::vector<std::int64_t>& into) {
    if (type_ != WireType::bytes) {
        if (want(WireType::varint, "whole number")) into.push_back(static_cast<std::int64_t>(number_));
        return;
    }
    std::string_view packed = value_;
    while (!packed.empty() && !file_->failed()) {
        const auto number = take_varint(packed);
        if (number) into.push_back(static_cast<std::int64_t>(*number));
    }
}

// Little endian, whatever the machine is.
template <class Number>
double ProtoMessage::fixed(std::string_view bytes) const {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
        bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    if constexpr (sizeof(Number) == 4) {
        return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    } else {
        return std::bit_cast<double>(bits);
    }
}

double ProtoMessage::float_number() { return want(WireType::four, "float") ? fixed<float>(value_) : 0; }
double ProtoMessage::double_number() { return want(WireType::eight, "double") ? fixed<double>(value_) : 0; }

template <class Number>
void ProtoMessage::add_fixed(WireType type, std::vector<double>& into) {
    if (type_ != WireType::bytes && !want(type, "floating-point number")) return;
    if (value_.size() % sizeof(Number) != 0) {
        file_->fail_once(offset_, "bad_proto", fmt::format("field {} ends inside a number", field_));
        return;
    }
    for (std::size_t at = 0; at < value_.size(); at += sizeof(Number)) {
        into.push_back(fixed<Number>(value_.substr(at, sizeof(Number))));
    }
}

void ProtoMessage::add_floats(std::vector<double>& into) { add_fixed<float>(WireType::four, into); }
void ProtoMessage::add_doubles(std::vector<double>& into) { add_fixed<double>(WireType::eight, into); }

}  // namespace roofline::core
