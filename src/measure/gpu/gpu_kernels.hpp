// The kernels that measure a GPU, as CUDA C++ that is compiled for the GPU of the machine at run time.
#pragma once

#include <string>

namespace roofline::core {

/// Work per thread and round of a peak kernel: `fmas_per_round` fused multiply-adds in 8 independent chains, each on
/// one number, or on two if a register holds two (f16x2, bf16x2).
inline constexpr int fmas_per_round = 256;
/// 16-byte loads per thread and round of the kernels that read L2 and shared memory.
inline constexpr int loads_per_round = 16;

/// The source of all kernels. Sizes are in elements of 16 bytes unless stated otherwise; `clock` receives cycles and
/// nanoseconds of one block.
///   fill(u64* words, u64 count, u64 seed, u64 keep, u64 set)      random words, (random & keep) | set
///   empty()
///   spin(u64 nanoseconds, u64* clock)
///   peak_f32, peak_f64(out, int rounds, a, b, clock); peak_f16x2, peak_bf16x2(u32* out, int rounds, u32 a, u32 b,
///       clock)
///   read_memory(x, u64 count, out), write_memory(x, count, value), copy_memory(y, x, count),
///   triad_memory(z, x, y, count, s)
///   read_l2(x, u64 mask, int rounds, out)        mask: elements of the working set, a power of two, minus one
///   read_shared(int rounds, out, clock)
/// `capability` excludes kernels for which the device has no instructions.
[[nodiscard]] std::string gpu_measuring_kernels(int capability);

}  // namespace roofline::core
