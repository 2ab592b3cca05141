// Loops that move memory, one for each access pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/cpu/features.hpp"

namespace roofline::core {

/// One pass over up to three arrays of `bytes` each, a multiple of bandwidth_block. Kernels that only read return the
/// exclusive or of everything read, 64 bits at a time; others return 0.
using BandwidthPass = std::uint64_t (*)(char* a, const char* b, const char* c, std::size_t bytes);

struct BandwidthKernel {
    std::string id;     ///< read, write, write_nt, copy, copy_nt, triad
    std::string title;  ///< "non-temporal write"
    int arrays = 1;     ///< number of arrays that it accesses
    int visible = 1;    ///< number of arrays whose bytes the program itself loads or stores
    int moved = 1;      ///< the same plus the arrays that a plain store makes the cache read first (read for ownership)
    BandwidthPass run = nullptr;
};

/// Kernels process whole blocks, and arrays must be aligned to 64 bytes.
inline constexpr std::size_t bandwidth_block = 512;

/// The widest version of each kernel that this processor supports: read (exclusive or), write (of 1.0), non-temporal
/// write, copy, non-temporal copy, and triad (a = b + 0.5 c, in f64).
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
/// Empty if the processor lacks the instructions.
[[nodiscard]] BandwidthPasses avx2_passes();
[[nodiscard]] BandwidthPasses avx512_passes();

}  // namespace roofline::core
