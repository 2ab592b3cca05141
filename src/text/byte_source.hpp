// Bytes that are read once, from the first to the last, so that a file need not fit into memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace roofline::core {

class ByteSource {
public:
    ByteSource() = default;
    virtual ~ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    /// Reads the next bytes into `into`, which is not empty, and returns how many: 0 only at the end. Errors: those of
    /// the system, of a damaged file.
    [[nodiscard]] virtual Result<std::size_t> read(std::span<char> into) = 0;
};

/// The bytes of a text, which must outlive it.
class TextSource final : public ByteSource {
public:
    explicit TextSource(std::string_view text) : rest_(text) {}

    [[nodiscard]] Result<std::size_t> read(std::span<char> into) override;

private:
    std::string_view rest_;
};

/// Bytes that were read of a source already, and then the rest of it, which must outlive it.
class ResumedSource final : public ByteSource {
public:
    ResumedSource(std::string first, ByteSource& rest) : first_(std::move(first)), rest_(rest) {}

    [[nodiscard]] Result<std::size_t> read(std::span<char> into) override;

private:
    std::string first_;
    std::size_t taken_ = 0;
    ByteSource& rest_;
};

/// Reads `most` bytes, or what there is.
[[nodiscard]] Result<std::string> read_some(ByteSource& source, std::size_t most);

}  // namespace roofline::core
