#include "text/gzip.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

// Of `gzip -9n` on "hello, roofline\n".
const std::string hello(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\xd7\x51\x28\xca\xcf\x4f\xcb\xc9\xcc\x4b\xe5\x02\x00"
    "\xf1\x09\x1b\xa8\x10\x00\x00\x00",
    36);

/// A gzip file of so many zero bytes, by hand: one block of fixed codes with a zero and matches of 258 bytes at
/// distance 1, each 13 bits: length code 285 is 11000101, distance code 0 is 00000 (RFC 1951, 3.2.6).
std::string bomb(std::size_t matches) {
    std::string out("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03", 10);
    unsigned held = 0;
    unsigned bits = 0;
    const auto put = [&](const char* code) {
        for (; *code != '\0'; ++code) {
            held |= (*code == '1' ? 1U : 0U) << bits;
            if (++bits < 8) continue;
            out.push_back(static_cast<char>(held));
            held = 0;
            bits = 0;
        }
    };
    put("110");       // the last block; fixed codes, low bit first
    put("00110000");  // the byte 0
    for (std::size_t i = 0; i < matches; ++i) put("1100010100000");
    put("0000000");  // the end of the block
    put("0000000");
    return out + std::string(8, '\0');
}

std::string gzip_code(const std::string& bytes, const GzipLimits& limits = {}) {
    const auto text = gunzip(bytes, "f.gz", limits);
    return text ? "" : text.error().code;
}

}  // namespace

TEST_CASE("gzip: a file is unpacked, also of several members") {
    REQUIRE(is_gzip(hello));
    REQUIRE(gunzip(hello, "f.gz"));
    CHECK(*gunzip(hello, "f.gz") == "hello, roofline\n");
    REQUIRE(gunzip(hello + hello, "f.gz"));
    CHECK(*gunzip(hello + hello, "f.gz") == "hello, roofline\nhello, roofline\n");
}

TEST_CASE("gzip: other bytes, damaged ones and incomplete ones are refused") {
    CHECK(gzip_code("") == "bad_gzip");
    CHECK(gzip_code("HloModule m") == "bad_gzip");
    CHECK(gzip_code(hello + "more") == "bad_gzip");
    std::string damaged = hello;
    damaged[12] = static_cast<char>(damaged[12] ^ 0x20);
    CHECK(gzip_code(damaged) == "bad_gzip");
    for (std::size_t size = 2; size < hello.size(); ++size) CHECK(gzip_code(hello.substr(0, size)) == "cut_off");
}

TEST_CASE("gzip: bombs are refused by size and by ratio") {
    // 100,000 matches are 25.8 MB of zeros in 162 kB, 159 times as much.
    CHECK(gzip_code(bomb(100'000), {std::size_t{1} << 20, 200, 0}) == "too_large");
    CHECK(gzip_code(bomb(100'000), {std::size_t{1} << 30, 100, std::size_t{1} << 20}) == "too_large");
    // Within both limits, the check sum is what is wrong.
    CHECK(gzip_code(bomb(100'000)) == "bad_gzip");
    // A small file may have any ratio.
    CHECK(gzip_code(bomb(1000), {std::size_t{1} << 30, 2, std::size_t{1} << 20}) == "bad_gzip");
}
