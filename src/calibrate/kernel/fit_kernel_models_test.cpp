#include "calibrate/kernel/fit_kernel_models.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace roofline::core;

namespace {

const KernelKey product{KernelKind::contraction, "fp8", "", ""};
const KernelKey conversion{KernelKind::elementwise, "", "", ""};

/// A kernel with `microseconds` us of memory time.
KernelPoint reads(double microseconds) { return {0, 0, microseconds * 1e-6, 0, 0}; }

/// Conversions take 1 us plus their reads, matmuls 3 us plus their reads; both are timed together.
std::vector<KernelSample> quantised_products() {
    std::vector<KernelSample> samples;
    for (double size = 1; size < 2000; size *= 2) {
        samples.push_back({"one", conversion, {reads(size), (1 + size) * 1e-6}, "a table"});
        samples.push_back({"one", product, {reads(size), (4 + 3 * size) * 1e-6}, "b", {{conversion, reads(size), 2}}});
    }
    // 4 + 3 size is two conversions, 2 + 2 size, and a matmul of 2 + size
    return samples;
}

}  // namespace

TEST_CASE("kernels that were timed together are separated with the model of those timed alone") {
    const KernelModelsFit fit = fit_kernel_models(quantised_products());
    REQUIRE(fit.calibrations.size() == 1);
    REQUIRE(fit.calibrations.front().kernels.size() == 2);
    const CalibratedKernel& of_product = fit.calibrations.front().kernels.front();
    CHECK(of_product.key == product);
    CHECK(of_product.fit.model.fixed_s == approx(2e-6).epsilon(0.01));
    CHECK(of_product.fit.error_fitted < 0.005);
    CHECK(fit.calibrations.front().kernels.back().fit.model.fixed_s == approx(1e-6).epsilon(0.01));
    CHECK(fit.rows == 22);
}

TEST_CASE("too few kernels of a kind count as those of the broader one") {
    std::vector<KernelSample> samples;
    for (const KernelKind kind : {KernelKind::softmax, KernelKind::normalisation, KernelKind::activation,
                                  KernelKind::elementwise, KernelKind::rotation}) {
        const int rows = kind == KernelKind::rotation ? 9 : 2;
        for (int i = 0; i < rows; ++i) {
            const double size = std::ldexp(1.0, i) + static_cast<double>(samples.size()) / 64;
            samples.push_back({"one", {kind, "", "", ""}, {reads(size), (2 + size) * 1e-6}, "a table"});
        }
    }
    const KernelModelsFit fit = fit_kernel_models(samples);
    const std::vector<CalibratedKernel>& kernels = fit.calibrations.front().kernels;
    REQUIRE(kernels.size() == 5);
    std::vector<KernelKind> kinds;
    for (const CalibratedKernel& kernel : kernels) {
        kinds.push_back(kernel.key.kind);
        CHECK(kernel.fit.rows == (kernel.key.kind == KernelKind::rotation ? 9 : 8));
    }
    // a shared model of four kinds is that of each
    CHECK(kinds == std::vector<KernelKind>{KernelKind::activation, KernelKind::elementwise, KernelKind::normalisation,
                                           KernelKind::rotation, KernelKind::softmax});
    CHECK(kernels[0].fit.model == kernels[4].fit.model);
    CHECK(fit.rows == 17);
    CHECK(fit.too_few == 0);
}

TEST_CASE("the time of a quantisation that was never timed alone is separated from that of its matmul by their rows") {
    // the operand M x K takes 1 us, half a microsecond for each of a core's rows, and 3 bytes per element at 0.75 of 1
    // TB/s; matmuls have N = 64 and 2048
    const KernelKey quantisation{KernelKind::quantisation, "fp8", "", ""};
    KernelModel first{1e-6, 0, 1, 1, 0.75};
    first.row_s = 0.5e-6;
    KernelModel model{2e-6, 0, 0.8, 1, 0.75, 2};
    std::vector<KernelSample> samples;
    for (double m = 1; m <= 16384; m *= 2) {
        for (double k = 128; k <= 8192; k *= 2) {
            for (const double n : {64.0, 2048.0}) {
                KernelPoint rows{0, 0, 3 * m * k / 1e12, 0, 0};
                rows.rows = m;
                rows.cores = 100;
                const KernelPoint point{2 * m * n * k / 100e12, 0, (m * k + n * k + 2 * m * n) / 1e12, 0, k};
                KernelSample sample{"one", product, {point, seconds_of(model, point) + seconds_of(first, rows)}, "a"};
                sample.key.software = "some 1.0";
                sample.others.push_back({quantisation, rows});
                samples.push_back(sample);
            }
        }
    }
    const KernelModelsFit fit = fit_kernel_models(samples);
    REQUIRE(fit.calibrations.size() == 1);
    REQUIRE(fit.calibrations.front().kernels.size() == 2);
    const CalibratedKernel& of_product = fit.calibrations.front().kernels.front();
    const CalibratedKernel& of_first = fit.calibrations.front().kernels.back();
    CHECK(of_product.key == KernelKey{KernelKind::contraction, "fp8", "some 1.0", ""});
    CHECK(of_first.key == KernelKey{KernelKind::quantisation, "fp8", "some 1.0", ""});
    CHECK(of_first.fit.model.row_s == approx(0.5e-6).epsilon(0.05));
    CHECK(of_product.fit.model.math == approx(0.8).epsilon(0.05));
    // only the sum of the fixed costs, 3 us, can be known: both kernels get half of it
    CHECK(of_product.fit.model.fixed_s == approx(1.5e-6).epsilon(0.05));
    CHECK(of_first.fit.model.fixed_s == approx(1.5e-6).epsilon(0.05));
    CHECK(of_product.fit.error_held_out < 0.02);
    // if the library's quantization was timed alone, its model is fitted to that
    for (double m = 1; m <= 4096; m *= 2) {
        KernelPoint rows{0, 0, 3 * m * 1000 / 1e12, 0, 0};
        rows.rows = m;
        rows.cores = 100;
        KernelSample alone{"one", quantisation, {rows, seconds_of(first, rows)}, "b"};
        alone.key.software = "some 1.0";
        samples.push_back(alone);
    }
    const KernelModelsFit known = fit_kernel_models(samples);
    REQUIRE(known.calibrations.front().kernels.size() == 2);
    CHECK(known.calibrations.front().kernels.back().sources == std::vector<std::string>{"b"});
    CHECK(known.calibrations.front().kernels.back().fit.model.fixed_s == approx(1e-6).epsilon(0.05));
}

TEST_CASE("without a model the others count with their bound") {
    std::vector<KernelSample> samples = quantised_products();
    std::erase_if(samples, [](const KernelSample& each) { return each.others.empty(); });
    const KernelModelsFit fit = fit_kernel_models(samples);
    REQUIRE(fit.calibrations.size() == 1);
    CHECK(fit.calibrations.front().kernels.front().fit.model.fixed_s == approx(4e-6).epsilon(0.01));
}
