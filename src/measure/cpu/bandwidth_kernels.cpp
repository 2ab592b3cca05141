#include "measure/cpu/bandwidth_kernels.hpp"

#include <cstring>

namespace roofline::core {

namespace {

using Words __attribute__((vector_size(16))) = std::uint64_t;
using Doubles __attribute__((vector_size(16))) = double;

template <class Vector>
Vector load(const char* from) {
    Vector value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class Vector>
void store(char* to, const Vector& value) {
    std::memcpy(to, &value, sizeof value);
}

std::uint64_t plain_read(char* a, const char*, const char*, std::size_t bytes) {
    Words first = {};
    Words second = {};
    Words third = {};
    Words fourth = {};
    for (std::size_t at = 0; at < bytes; at += 64) {
        first ^= load<Words>(a + at);
        second ^= load<Words>(a + at + 16);
        third ^= load<Words>(a + at + 32);
        fourth ^= load<Words>(a + at + 48);
    }
    first ^= second ^ third ^ fourth;
    return first[0] ^ first[1];
}

// Data that is never read must still be stored: the empty assembly makes the compiler assume that it is read.
std::uint64_t plain_write(char* a, const char*, const char*, std::size_t bytes) {
    const Doubles one = Doubles{} + 1.0;
    for (std::size_t at = 0; at < bytes; at += 16) store(a + at, one);
    asm volatile("" : : "r"(a) : "memory");
    return 0;
}

std::uint64_t plain_copy(char* a, const char* b, const char*, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 16) store(a + at, load<Words>(b + at));
    asm volatile("" : : "r"(a) : "memory");
    return 0;
}

std::uint64_t plain_triad(char* a, const char* b, const char* c, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 16) {
        store(a + at, load<Doubles>(b + at) + 0.5 * load<Doubles>(c + at));
    }
    asm volatile("" : : "r"(a) : "memory");
    return 0;
}

}  // namespace

BandwidthPasses plain_passes() { return {plain_read, plain_write, nullptr, plain_copy, nullptr, plain_triad}; }

std::vector<BandwidthKernel> bandwidth_kernels(const CpuFeatures& features) {
    const BandwidthPasses passes = features.has(CpuFeature::avx512)     ? avx512_passes()
                                   : features.has(CpuFeature::avx2_fma) ? avx2_passes()
                                                                        : plain_passes();
    const std::vector<BandwidthKernel> all{
        {"read", "read", 1, 1, 1, passes.read},
        {"write", "write", 1, 1, 2, passes.write},
        {"write_nt", "non-temporal write", 1, 1, 1, passes.write_nt},
        {"copy", "copy", 2, 2, 3, passes.copy},
        {"copy_nt", "non-temporal copy", 2, 2, 2, passes.copy_nt},
        {"triad", "triad", 3, 3, 4, passes.triad},
    };
    std::vector<BandwidthKernel> usable;
    for (const BandwidthKernel& kernel : all) {
        if (kernel.run != nullptr) usable.push_back(kernel);
    }
    return usable;
}

}  // namespace roofline::core
