#include "text/protobuf.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

// Reads all fields as what their wire type says, nested messages of field 15 included.
void visit(ProtoMessage message) {
    std::vector<std::int64_t> numbers;
    while (message.next()) {
        if (message.field() == 15) visit(message.message());
        if (message.field() == 1) message.add_integers(numbers);
    }
}

std::string error_of(std::string_view bytes) {
    ProtoFile file(bytes, "m.pb", "proto");
    visit(ProtoMessage(file));
    const Status status = file.status();
    return status ? "" : status.error().code + ": " + status.error().message;
}

}  // namespace

TEST_CASE("fields of each wire type") {
    // Figures of the encoding's documentation: 150, "testing"; -1 as int64; 1.5 as float and double; packed numbers.
    const std::string_view bytes =
        "\x08\x96\x01\x12\x07testing\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x25\x00\x00\xc0\x3f"
        "\x29\x00\x00\x00\x00\x00\x00\xf8\x3f\x32\x03\x03\x96\x01\x30\x07\x3a\x04\x00\x00\x00\xbf";
    const std::string text(bytes.data(), sizeof("\x08\x96\x01\x12\x07testing") - 1 + 11 + 5 + 9 + 5 + 2 + 6);
    ProtoFile file(text, "m.pb", "proto");
    ProtoMessage message(file);
    REQUIRE(message.next());
    CHECK(message.integer() == 150);
    REQUIRE(message.next());
    CHECK(message.bytes() == "testing");
    CHECK(message.offset() == 3);
    REQUIRE(message.next());
    CHECK(message.integer() == -1);
    REQUIRE(message.next());
    CHECK(message.float_number() == 1.5);
    REQUIRE(message.next());
    CHECK(message.double_number() == 1.5);
    std::vector<std::int64_t> numbers;
    REQUIRE(message.next());
    message.add_integers(numbers);
    REQUIRE(message.next());
    message.add_integers(numbers);
    CHECK(numbers == std::vector<std::int64_t>{3, 150, 7});
    std::vector<double> reals;
    REQUIRE(message.next());
    message.add_floats(reals);
    CHECK(reals == std::vector<double>{-0.5});
    CHECK_FALSE(message.next());
    CHECK(file.status().has_value());
}

TEST_CASE("bytes that are no message are refused with their place") {
    CHECK(error_of("\x12\x05"
                   "abc") == "cut_off: m.pb: byte 0: field 2 has 5 bytes, but its message ends after 3");
    CHECK(error_of("\x10\x01\x08") == "cut_off: m.pb: byte 3: the file ends inside a number");
    CHECK(error_of("\x08\xff") == "cut_off: m.pb: byte 1: the file ends inside a number");
    // A length of 2^32 + 3 is not one of 3.
    CHECK(error_of("\x12\x83\x80\x80\x80\x10"
                   "abc")
              .find("field 2 has 4294967299 bytes") != std::string::npos);
    CHECK(error_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02") ==
          "bad_proto: m.pb: byte 1: a number is longer than 64 bits");
    CHECK(error_of("\x13") == "bad_proto: m.pb: byte 0: field 2 has the wire type 3, which no field has");
    CHECK(error_of(std::string_view("\x00", 1)) == "bad_proto: m.pb: byte 0: there is no field 0");
    CHECK(error_of("\x7a\x02\x08") == "cut_off: m.pb: byte 0: field 15 has 2 bytes, but its message ends after 1");
    CHECK(error_of("\x7a\x01\x08") == "cut_off: m.pb: byte 3: the file ends inside a number");
    CHECK(error_of("\x0d"
                   "abcd") == "bad_proto: m.pb: byte 0: field 1 is no whole number");
    CHECK(error_of("\x0a\x01\x80") == "cut_off: m.pb: byte 2: the file ends inside a number");
    CHECK(error_of("\x78\x01") == "bad_proto: m.pb: byte 0: field 15 is no text and no message");
}

TEST_CASE("messages are nested at most 100 deep") {
    std::string text;
    for (int i = 0; i < 60; ++i) text = "\x7a" + std::string(1, static_cast<char>(text.size())) + text;
    CHECK(error_of(text).empty());
    for (int i = 0; i < 60; ++i) {
        const auto size = text.size();
        text = "\x7a" +
               (size < 128 ? std::string(1, static_cast<char>(size))
                           : std::string{static_cast<char>((size & 0x7F) | 0x80), static_cast<char>(size >> 7)}) +
               text;
    }
    CHECK(error_of(text).find("too_deep: ") == 0);
}
