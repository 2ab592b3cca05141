// Memory directly from the kernel, in pages of the requested size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.hpp"

namespace roofline::core {

enum class Pages : std::uint8_t { huge, small };

/// Zeroed memory that was never accessed; its pages are allocated on first write, near the core that writes.
class PagedBuffer {
public:
    PagedBuffer() = default;
    PagedBuffer(PagedBuffer&& other) noexcept
        : mapped_(std::exchange(other.mapped_, nullptr)),
          mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
          data_(std::exchange(other.data_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    PagedBuffer& operator=(PagedBuffer&& other) noexcept {
        std::swap(mapped_, other.mapped_);
        std::swap(mapped_bytes_, other.mapped_bytes_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    PagedBuffer(const PagedBuffer&) = delete;
    PagedBuffer& operator=(const PagedBuffer&) = delete;
    ~PagedBuffer();

    /// Allocates memory aligned to 2 MiB. Errors: code `memory`.
    [[nodiscard]] static Result<PagedBuffer> make(std::size_t bytes, Pages pages);

    [[nodiscard]] char* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }

private:
    void* mapped_ = nullptr;
    std::size_t mapped_bytes_ = 0;
    char* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace roofline::core
