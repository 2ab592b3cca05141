#include "base/approx_test.hpp"
#include "calibrate/calibration.hpp"
#include "calibrate/kernel/fit_kernel_models.hpp"
#include "calibrate/kernel/fit_kernels.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace roofline::core;

namespace {

/// 2 bytes per element, with 100 TFLOP/s and 1 TB/s.
KernelPoint matmul_point(double m, double n, double k) {
    KernelPoint point{2 * m * n * k / 100e12, 0, 2 * (m * k + k * n + m * n) / 1e12, 0, k};
    point.m = m;
    point.n = n;
    point.batch = 1;
    return point;
}

/// The logarithm of a library's deviation by size: oscillations with a period of about seven doublings.
double choice(double n, double k) { return 0.4 * std::sin(0.9 * std::log2(n)) * std::sin(0.9 * std::log2(k)); }

const KernelModel smooth_model{2e-6, 0, 0.8, 1, 0.8, 2};

/// Matmuls with every m and every `each`th of 11 n and 11 k, by that model, slower by a factor of `slower` and with the
/// logarithm of `quirk`.
template <class Quirk>
std::vector<TimedKernel> timed_matmuls(std::size_t each, double slower, Quirk&& quirk) {
    std::vector<TimedKernel> kernels;
    std::size_t i = 0;
    for (double n = 64; n <= 65536; n *= 2) {
        for (double k = 64; k <= 65536; k *= 2) {
            if (i++ % each != 0) continue;
            for (double m = 1; m <= 256; m *= 16) {
                const KernelPoint point = matmul_point(m, n, k);
                kernels.push_back({point, seconds_of(smooth_model, point) * slower * std::exp(quirk(n, k))});
            }
        }
    }
    return kernels;
}

}  // namespace

TEST_CASE("on a grid each fold holds out about a fifth of every size") {
    const auto kernels = timed_matmuls(1, 1, choice);
    TimedKernels all;
    for (const TimedKernel& kernel : kernels) all.push_back(&kernel);
    const FoldsOfShapes folds = folds_of(all);
    CHECK(folds.size() == 121);
    for (double size = 64; size <= 65536; size *= 2) {
        std::array<int, kernel_folds> of_n{};
        std::array<int, kernel_folds> of_k{};
        for (const auto& [shape, fold] : folds) {
            if (std::get<0>(shape) == size) ++of_n[fold];
            if (std::get<1>(shape) == size) ++of_k[fold];
        }
        for (std::size_t fold = 0; fold < kernel_folds; ++fold) {
            CHECK(of_n[fold] >= 2);  // of eleven
            CHECK(of_n[fold] <= 3);
            CHECK(of_k[fold] >= 2);
            CHECK(of_k[fold] <= 3);
        }
    }
    // all m of a shape are held out together
    for (const TimedKernels& fold : in_folds(all, folds)) CHECK(fold.size() % 3 == 0);
    // shapes that are not a grid are distributed evenly as well: each n has its own depth, so that ranks alone would
    // put all of them in one fold
    std::vector<TimedKernel> diagonal;
    for (double size = 1; size <= 30; ++size)
        diagonal.push_back({matmul_point(1, 64 * size, 64 * std::fmod(3 * size, 31)), 1});
    TimedKernels of_diagonal;
    for (const TimedKernel& kernel : diagonal) of_diagonal.push_back(&kernel);
    for (const TimedKernels& fold : in_folds(of_diagonal, folds_of(of_diagonal))) {
        CHECK(fold.size() >= 5);
        CHECK(fold.size() <= 7);
    }
    // known shapes keep their folds
    FoldsOfShapes known;
    for (const auto& [shape, fold] : folds) known[shape] = (fold + 1) % kernel_folds;
    CHECK(folds_of(all, known) == known);
    // with a single shape, every fifth row is held out
    const TimedKernels three(all.begin(), all.begin() + 3);
    const auto single = in_folds(three, folds_of(three));
    CHECK(single[0].size() == 1);
    CHECK(single[2].size() == 1);
    CHECK(single[4].empty());
    CHECK(without_fold(single, 1).size() == 2);
}

TEST_CASE("few rows have the models of a relative that chooses alike, with what they take longer") {
    const auto relative = fit_kernels_in_folds(timed_matmuls(1, 1, choice));
    const auto few = timed_matmuls(7, 1.2, choice);
    const auto own = fit_kernels(few);
    REQUIRE((relative && own));
    const auto like = fit_like(*relative, few);
    REQUIRE(like);
    CHECK(like->rows == 54);
    CHECK(like->model == relative->fit.model);
    CHECK(like->error_held_out < 0.8 * own->error_held_out);
    // shapes that are not among the few measurements
    double by_own = 0;
    double by_like = 0;
    double rows = 0;
    for (const TimedKernel& kernel : timed_matmuls(5, 1.2, choice)) {
        by_own += error_of(*own, kernel);
        by_like += error_of(*like, kernel);
        ++rows;
    }
    CHECK(by_like / rows < 0.08);  // oscillations with amplitude e^0.4 between grid points two doublings apart
    CHECK(by_like < 0.5 * by_own);
    // empty for too few measurements, or kernels that are not matmuls
    CHECK_FALSE(fit_like(*relative, {few.begin(), few.begin() + 5}));
    std::vector<TimedKernel> others(20, {KernelPoint{0, 0, 1e-6, 0, 0}, 3e-6});
    CHECK_FALSE(fit_like(*relative, others));
}

TEST_CASE("a shape that is held out is so among the relative's rows as well") {
    // a model that includes all of its shapes, and predicts 1.5 times the time for those that were held out
    const auto kernels = timed_matmuls(1, 1, [](double, double) { return 0.0; });
    TimedKernels all;
    for (const TimedKernel& kernel : kernels) all.push_back(&kernel);
    FoldedFit relative;
    relative.fit.model = smooth_model;
    relative.folds = folds_of(all);
    for (std::size_t held = 0; held < kernel_folds; ++held) {
        KernelFit& without = relative.without[held];
        without.model = smooth_model;
        without.factors.doublings = fine;
        without.factors.powers = {{{0, 8}, {6, 16}, {6, 16}, {0, 0}}};
        for (int m = 0; m <= 8; ++m) {
            for (double n = 64; n <= 65536; n *= 2) {
                for (double k = 64; k <= 65536; k *= 2) {
                    const bool unseen = relative.folds.at({n, k, 1}) == held;
                    without.factors.logs.push_back(unseen ? std::log(1.5) : 0);
                }
            }
        }
    }
    const auto like = fit_like(relative, timed_matmuls(3, 1, [](double, double) { return 0.0; }));
    REQUIRE(like);
    CHECK(like->error_fitted < 0.001);
    CHECK(like->error_held_out == approx(0.5).epsilon(0.01));
}

TEST_CASE("models of few rows are a relative's where that is nearer, and say whose") {
    std::vector<KernelSample> samples;
    const auto add = [&](const std::string& machine, const std::string& software, const auto& kernels) {
        for (const TimedKernel& kernel : kernels) {
            samples.push_back({machine, {KernelKind::contraction, "bf16", software, ""}, kernel, "a table", {}});
        }
    };
    add("a", "one 1.0", timed_matmuls(1, 1, choice));
    add("a", "two 1.0", timed_matmuls(7, 1.2, choice));
    // equally few measurements of a library that chooses differently
    add("a", "three 1.0", timed_matmuls(7, 1.2, [](double n, double k) { return -choice(n, k); }));
    add("b", "one 1.0", timed_matmuls(7, 1.2, choice));  // not a machine of the catalogue
    KernelModelsFit fit = fit_kernel_models(samples);
    REQUIRE(fit.calibrations.size() == 2);
    const auto& kernels = fit.calibrations.front().kernels;
    REQUIRE(kernels.size() == 3);
    CHECK(kernels[0].like.empty());
    CHECK(kernels[1].key.software == "three 1.0");
    CHECK(kernels[1].like.empty());
    CHECK(kernels[2].like == "one 1.0");
    CHECK(kernels[2].fit.model == kernels[0].fit.model);
    CHECK(kernels[2].fit.factors != kernels[0].fit.factors);
    CHECK(fit.calibrations.back().kernels.front().like.empty());
    // the file preserves it
    const auto read = parse_calibration(calibration_text(fit.calibrations.front()), "a.toml");
    REQUIRE(read);
    CHECK(read->kernels[2].like == "one 1.0");
    CHECK(read->kernels[2].fit.factors == kernels[2].fit.factors);
}
