#include "calibrate/fit_kernel_laws.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace roofline;

namespace {

const KernelKey product{"contraction", "fp8", "", ""};
const KernelKey conversion{"elementwise", "", "", ""};

/// A kernel of so many microseconds of memory.
KernelPoint reads(double microseconds) { return {0, 0, microseconds * 1e-6, 0, 0}; }

/// Conversions take 1 us and what they read, products 3 us and what they read; both together are timed in one.
std::vector<KernelSample> quantised_products() {
    std::vector<KernelSample> samples;
    for (double size = 1; size < 2000; size *= 2) {
        samples.push_back({"one", conversion, {reads(size), (1 + size) * 1e-6}, "a table"});
        samples.push_back({"one", product, {reads(size), (4 + 3 * size) * 1e-6}, "b", {{conversion, reads(size), 2}}});
    }
    // 4 + 3 size = two conversions, 2 + 2 size, and a product of 2 + size
    return samples;
}

}  // namespace

TEST_CASE("kernels that were timed together are told apart by the law of those timed alone") {
    const KernelLawsFit fit = fit_kernel_laws(quantised_products());
    REQUIRE(fit.calibrations.size() == 1);
    REQUIRE(fit.calibrations.front().kernels.size() == 2);
    const CalibratedKernel& of_product = fit.calibrations.front().kernels.front();
    CHECK(of_product.key == product);
    CHECK(of_product.fit.law.fixed_s == doctest::Approx(2e-6).epsilon(0.01));
    CHECK(of_product.fit.error_fitted < 0.005);
    CHECK(fit.calibrations.front().kernels.back().fit.law.fixed_s == doctest::Approx(1e-6).epsilon(0.01));
    CHECK(fit.rows == 22);
}

TEST_CASE("without a law the others count with their bound") {
    std::vector<KernelSample> samples = quantised_products();
    std::erase_if(samples, [](const KernelSample& each) { return each.others.empty(); });
    const KernelLawsFit fit = fit_kernel_laws(samples);
    REQUIRE(fit.calibrations.size() == 1);
    CHECK(fit.calibrations.front().kernels.front().fit.law.fixed_s == doctest::Approx(4e-6).epsilon(0.01));
}
