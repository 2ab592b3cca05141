// A std::ifstream that opens nothing. toml++ and CLI11 have functions that read a file, which nobody calls; libc++ for
// WebAssembly has no files, so that they would not compile.
#pragma once

#include <istream>
#include <streambuf>
#include <string>

// NOLINTNEXTLINE(cert-dcl58-cpp): the standard library only declares it
template <>
class std::basic_ifstream<char> : public std::istream {
public:
    basic_ifstream() : std::istream(&none_) {}
    explicit basic_ifstream(const std::string& path) : basic_ifstream() { static_cast<void>(path); }
    [[nodiscard]] std::streambuf* rdbuf() { return &none_; }
    void open(const std::string& path, openmode mode) {
        static_cast<void>(path);
        static_cast<void>(mode);
    }
    [[nodiscard]] static bool is_open() { return false; }

private:
    struct None : std::streambuf {};
    None none_;
};
