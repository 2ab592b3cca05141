#include "measure/cpu/clock_probe.hpp"

#include <chrono>

namespace roofline::core {

namespace {

constexpr int chain = 16;

// The additions are register to register because some cores execute additions of constants during renaming, in zero
// cycles.
#if defined(__x86_64__)
std::uint64_t add_chain(std::int64_t passes) {
    std::uint64_t sum = 0;
    const std::uint64_t one = 1;
    asm volatile(
        "1:\n\t"
        ".rept 16\n\t"
        "add %[one], %[sum]\n\t"
        ".endr\n\t"
        "dec %[passes]\n\t"
        "jnz 1b\n\t"
        : [sum] "+r"(sum), [passes] "+r"(passes)
        : [one] "r"(one)
        : "cc");
    return sum;
}
#elif defined(__aarch64__)
std::uint64_t add_chain(std::int64_t passes) {
    std::uint64_t sum = 0;
    const std::uint64_t one = 1;
    asm volatile(
        "1:\n\t"
        ".rept 16\n\t"
        "add %[sum], %[sum], %[one]\n\t"
        ".endr\n\t"
        "subs %[passes], %[passes], #1\n\t"
        "b.ne 1b\n\t"
        : [sum] "+r"(sum), [passes] "+r"(passes)
        : [one] "r"(one)
        : "cc");
    return sum;
}
#else
std::uint64_t add_chain(std::int64_t passes) {
    std::uint64_t sum = 0;
    std::uint64_t one = 1;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
        for (int i = 0; i < chain; ++i) {
            sum += one;
            asm volatile("" : "+r"(sum), "+r"(one));
        }
    }
    return sum;
}
#endif

}  // namespace

ClockProbe probe_clock(std::int64_t passes) {
    using Clock = std::chrono::steady_clock;
    if (passes < 1) passes = 1;
    const auto start = Clock::now();
    ClockProbe probe;
    probe.sum = add_chain(passes);
    const std::chrono::duration<double> took = Clock::now() - start;
    if (took.count() > 0) probe.hertz = static_cast<double>(passes) * chain / took.count();
    return probe;
}

}  // namespace roofline::core
