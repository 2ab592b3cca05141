// Loops that move memory, one for each way to do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/cpu/features.hpp"

namespace roofline::core {

/// One pass over up to three arrays of `bytes` each, a multiple of bandwidth_block. Returns the exclusive or of all that was read, 64 bits
/// at a time, where the kernel only reads; else 0.
using BandwidthPass = std::uint64_t (*)(char* a, const char* b, const char* c, std::size_t bytes);

struct BandwidthKernel {
    std::string id;     ///< read, write, write_nt, copy, copy_nt, triad
    std::string title;  ///< "non-temporal write"
    int arrays = 1;     ///< that it goes over
    int visible = 1;    ///< arrays whose bytes the program itself loads or stores
    int moved = 1;      ///< the same, with those that a plain store makes the cache read first (read for ownership)
    BandwidthPass run = nullptr;
};

/// Every kernel takes whole blocks, and arrays that begin at a multiple of 64 bytes.
inline constexpr std::size_t bandwidth_block = 512;

/// The widest of each that this processor has: read (exclusive or), write (of 1.0), write past the caches, copy, copy past the
/// caches, and triad (a = b + 0.5 c, in f64).
[[nodiscard]] std::vector<BandwidthKernel> bandwidth_kernels(const CpuFeatures& features);

struct BandwidthPasses {
    BandwidthPass read = nullptr;
    BandwidthPass write = nullptr;
    BandwidthPass write_nt = nullptr;  ///< null: the architecture has no such store
    BandwidthPass copy = nullptr;
    BandwidthPass copy_nt = nullptr;
    BandwidthPass triad = nullptr;
};

[[nodiscard]] BandwidthPasses plain_passes();
/// Empty where there are no such instructions.
[[nodiscard]] BandwidthPasses avx2_passes();
[[nodiscard]] BandwidthPasses avx512_passes();

}  // namespace roofline::core
