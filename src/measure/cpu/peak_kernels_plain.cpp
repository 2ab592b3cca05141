// Peaks for architectures without kernels in assembly: multiplications and additions on 16-byte vectors, compiled to
// whatever instructions exist.
#include <cstring>

#include "measure/cpu/peak_kernels.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t vector_bytes = 16;
constexpr std::size_t plain_accumulators = 8;
constexpr double factor = 1.5;
constexpr double other_factor = 1.25 / 4096;

/// Makes the compiler assume that the factors may have changed; otherwise it would multiply only once.
template <class Vector>
void add_product(Vector& sum, Vector& x, Vector& y) {
    sum += x * y;
#if defined(__x86_64__)
    asm volatile("" : "+x"(sum), "+x"(x), "+x"(y));
#elif defined(__aarch64__)
    asm volatile("" : "+w"(sum), "+w"(x), "+w"(y));
#else
    asm volatile("" : "+m"(sum), "+m"(x), "+m"(y));
#endif
}

/// Eight accumulators and two operands: few enough for the 16 vector registers of every 64-bit processor.
template <class T>
void multiply_add(char* accumulators, const char* operands, std::int64_t passes) {
    using Vector __attribute__((vector_size(vector_bytes))) = T;
    Vector x;
    Vector y;
    Vector sums[plain_accumulators];
    std::memcpy(&x, operands, sizeof x);
    std::memcpy(&y, operands + vector_bytes, sizeof y);
    std::memcpy(&sums, accumulators, sizeof sums);
    auto [a, b, c, d, e, f, g, h] = sums;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
        add_product(a, x, y);
        add_product(b, x, y);
        add_product(c, x, y);
        add_product(d, x, y);
        add_product(e, x, y);
        add_product(f, x, y);
        add_product(g, x, y);
        add_product(h, x, y);
    }
    const Vector results[plain_accumulators] = {a, b, c, d, e, f, g, h};
    std::memcpy(accumulators, &results, sizeof results);
}

template <class T>
PeakKernel plain_kernel(Dtype dtype, RegisterLane lane) {
    PeakKernel kernel;
    kernel.id = "plain_" + std::string(name(dtype));
    kernel.title = "multiply + add";
    kernel.instructions = "compiled for any processor";
    kernel.unit = Unit::matmul;
    kernel.dtype = dtype;
    kernel.register_bytes = vector_bytes;
    kernel.accumulator = lane;
    kernel.operands = {{lane, factor}, {lane, other_factor}};
    kernel.steps.assign(plain_accumulators, factor * other_factor);
    constexpr std::size_t lanes = vector_bytes / sizeof(T);
    kernel.ops_per_pass = static_cast<double>(plain_accumulators * 2 * lanes);
    kernel.run = multiply_add<T>;
    return kernel;
}

}  // namespace

void add_plain_kernels(std::vector<PeakKernel>& kernels) {
    kernels.push_back(plain_kernel<double>(Dtype::f64, RegisterLane::f64));
    kernels.push_back(plain_kernel<float>(Dtype::f32, RegisterLane::f32));
}

}  // namespace roofline::core
