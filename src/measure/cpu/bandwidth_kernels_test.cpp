#include "measure/cpu/bandwidth_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "measure/cpu/paged_buffer.hpp"

using namespace roofline::core;

namespace {

constexpr std::size_t bytes = 3 * bandwidth_block;
constexpr std::size_t count = bytes / sizeof(double);
constexpr double untouched = -7;

/// Three arrays of `bytes`, each followed by a guard block.
struct Arrays {
    PagedBuffer buffer = PagedBuffer::make(3 * (bytes + bandwidth_block), Pages::small).value();
    double* a = reinterpret_cast<double*>(buffer.data());
    double* b = a + (bytes + bandwidth_block) / sizeof(double);
    double* c = b + (bytes + bandwidth_block) / sizeof(double);

    Arrays() {
        std::fill(a, a + buffer.size() / sizeof(double), untouched);
        for (std::size_t i = 0; i < count; ++i) {
            b[i] = static_cast<double>(i) + 1;
            c[i] = 1000.0 * static_cast<double>(i);
        }
    }
    [[nodiscard]] bool edges_untouched() const {
        return a[count] == untouched && b[count] == untouched && c[count] == untouched;
    }
    std::uint64_t run(BandwidthPass pass) {
        return pass(reinterpret_cast<char*>(a), reinterpret_cast<const char*>(b), reinterpret_cast<const char*>(c),
                    bytes);
    }
};

void check_passes(const BandwidthPasses& passes) {
    for (const BandwidthPass write : {passes.write, passes.write_nt}) {
        if (write == nullptr) continue;
        Arrays arrays;
        arrays.run(write);
        CHECK(std::count(arrays.a, arrays.a + count, 1.0) == static_cast<std::ptrdiff_t>(count));
        CHECK(arrays.edges_untouched());
    }
    for (const BandwidthPass copy : {passes.copy, passes.copy_nt}) {
        if (copy == nullptr) continue;
        Arrays arrays;
        arrays.run(copy);
        CHECK(std::equal(arrays.a, arrays.a + count, arrays.b));
        CHECK(arrays.edges_untouched());
    }
    Arrays arrays;
    arrays.run(passes.triad);
    bool right = true;
    for (std::size_t i = 0; i < count; ++i) right = right && arrays.a[i] == arrays.b[i] + 0.5 * arrays.c[i];
    CHECK(right);
    CHECK(arrays.edges_untouched());
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, arrays.a + i, sizeof word);
        expected ^= word;
    }
    CHECK(arrays.run(passes.read) == expected);
    // changing any bit changes the result, so everything was read
    for (const std::size_t at : {std::size_t{0}, std::size_t{5}, count / 2, count - 1}) {
        const double before = arrays.a[at];
        arrays.a[at] = before + 1;
        CHECK(arrays.run(passes.read) != expected);
        arrays.a[at] = before;
    }
}

}  // namespace

TEST_CASE("passes over memory read and write every byte and nothing beyond") {
    const CpuFeatures features = cpu_features();
    SUBCASE("plain") { check_passes(plain_passes()); }
    SUBCASE("AVX2") {
        if (features.has(CpuFeature::avx2_fma)) {
            check_passes(avx2_passes());
        } else {
            MESSAGE("skipped: this processor has no AVX2");
        }
    }
    SUBCASE("AVX-512") {
        if (features.has(CpuFeature::avx512)) {
            check_passes(avx512_passes());
        } else {
            MESSAGE("skipped: this processor has no AVX-512");
        }
    }
}

TEST_CASE("a plain store moves its line twice, a non-temporal store once") {
    for (const BandwidthKernel& kernel : bandwidth_kernels(cpu_features())) {
        CAPTURE(kernel.id);
        const bool reads_only = kernel.id == "read";
        const bool past = kernel.id.ends_with("_nt");
        CHECK(kernel.visible == kernel.arrays);
        CHECK(kernel.moved == kernel.visible + (reads_only || past ? 0 : 1));
    }
}

TEST_CASE("memory is aligned to a huge page, and an impossible size is rejected") {
    auto buffer = PagedBuffer::make(12345, Pages::huge);
    REQUIRE(buffer);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer->data()) % (2U << 20) == 0);
    CHECK(buffer->size() == 12345);
    CHECK(buffer->data()[12344] == 0);
    auto moved = std::move(*buffer);
    CHECK(moved.size() == 12345);
    const auto none = PagedBuffer::make(~std::size_t{0}, Pages::huge);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == "memory");
}
