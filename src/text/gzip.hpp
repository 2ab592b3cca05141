// Reads gzip files, as tools write them around large texts (`.hlo.gz`, traces).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "text/byte_source.hpp"

namespace roofline::core {

/// What an unpacked file may be at most, so that a small file cannot fill the memory.
struct GzipLimits {
    std::size_t bytes = std::size_t{1} << 30;        ///< of the unpacked text
    std::size_t ratio = 200;                         ///< unpacked to packed; texts reach about 30, a bomb 1000
    std::size_t free_bytes = std::size_t{16} << 20;  ///< whose ratio does not matter
};

/// Whether bytes begin as a gzip file does.
[[nodiscard]] bool is_gzip(std::string_view bytes);

/// Returns the unpacked bytes of a gzip file of one or several members. `name` stands in messages. Errors: `bad_gzip`
/// for other bytes and damaged ones, `cut_off` for a file that ends too early, `too_large` beyond the limits.
[[nodiscard]] Result<std::string> gunzip(std::string_view bytes, std::string_view name, const GzipLimits& limits = {});

/// Returns a source of the unpacked bytes of `packed` if these are a gzip file, and otherwise of its bytes as they are.
/// `packed` and `name` must outlive it. Errors while it is read: those of gunzip() and of `packed`.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> unpacked(ByteSource& packed, std::string_view name,
                                                           const GzipLimits& limits = {});

}  // namespace roofline::core
