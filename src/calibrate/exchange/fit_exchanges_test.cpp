#include "calibrate/exchange/fit_exchanges.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/approx_test.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

ExchangeLinks node_of_eight() {
    ExchangeLinks wires;
    wires.members = 8;
    wires.link_rate = 450e9;
    wires.chip_cores = 132;
    wires.tiers = {{7.0 / 64 / 450e9, 1, 8}};
    return wires;
}

/// Exact times of this model, for several shapes and numbers of tokens.
std::vector<ExchangeSample> samples_of(const ExchangeModel& model, std::int64_t members = 8) {
    struct Shape {
        double width, choices, experts;
    };
    std::vector<ExchangeSample> samples;
    for (const Shape& shape : {Shape{2048, 8, 128}, Shape{4096, 2, 8}, Shape{4096, 8, 256}, Shape{5120, 1, 16},
                               Shape{6144, 4, 128}, Shape{7168, 8, 256}}) {
        for (double tokens = 1; tokens <= 1024; tokens *= 2) {
            ExchangeSample sample;
            sample.machine = "h100-sxm5";
            sample.key = {"h100-sxm", "nvlink", ExchangeStep::dispatch, "sglang 1.0", "deepep low latency", members};
            sample.link = {"switch", 8, 450e9};
            sample.point = exchange_point({tokens, shape.choices, shape.experts, shape.width}, node_of_eight());
            sample.choices = shape.choices;
            sample.time_s = seconds_of(model, sample.point);
            sample.source = "made up";
            samples.push_back(sample);
        }
    }
    return samples;
}

ExchangeModel some_model() {
    ExchangeModel model;
    model.base_s = 8e-6;
    model.expert_s = 15e-9;
    model.link = 0.7;
    model.copy_s = 0.2e-6;
    model.read = 0.01;
    return model;
}

}  // namespace

TEST_CASE("a fit finds the model that times were made with") {
    const ExchangeFit fit = fit_exchanges(samples_of(some_model()));
    REQUIRE(fit.calibrations.size() == 1);
    REQUIRE(fit.calibrations.front().exchanges.size() == 1);
    const CalibratedExchange& found = fit.calibrations.front().exchanges.front();
    CHECK(found.rows == 66);
    CHECK(found.least_tokens == 1);
    CHECK(found.most_tokens == 1024);
    CHECK_FALSE(found.model.once);
    CHECK(found.errors.fitted < 0.002);
    CHECK(found.errors.sizes < 0.002);
    REQUIRE(found.errors.shapes);
    CHECK(*found.errors.shapes < 0.01);
    CHECK(1e6 * found.model.base_s == approx(8).epsilon(0.02));
    CHECK(1e9 * found.model.expert_s == approx(15).epsilon(0.02));
    CHECK(found.model.link == approx(0.7).epsilon(0.02));
}

TEST_CASE("a fit finds that tokens go once to each chip, and how many cores nobody says") {
    ExchangeModel model = some_model();
    model.once = true;
    model.cores = 20;
    std::vector<ExchangeSample> samples = samples_of(model);
    double cores = 4;
    for (ExchangeSample& sample : samples) {
        sample.point.cores = cores;
        sample.time_s = seconds_of(model, sample.point);
        cores = cores == 24 ? 4 : cores + 4;
    }
    const ExchangeFit fit = fit_exchanges(samples);
    const CalibratedExchange& found = fit.calibrations.front().exchanges.front();
    CHECK(found.model.once);
    CHECK(found.model.cores == 20);
    CHECK(found.errors.fitted < 0.002);
}

TEST_CASE("the same rows in any order give the same model; repeats, wrong units and impossible rows are left out") {
    std::vector<ExchangeSample> samples = samples_of(some_model());
    samples.push_back(samples.front());
    samples.push_back(samples.back());
    samples.back().time_s *= 1000;
    samples.push_back(samples.front());
    samples.back().lower_s = 3 * samples.back().time_s;
    const ExchangeFit fit = fit_exchanges(samples);
    CHECK(fit.duplicates == 1);
    CHECK(fit.left_out == 2);
    CHECK(fit.rows == 66);
    std::reverse(samples.begin(), samples.end());
    CHECK(fit_exchanges(samples).calibrations == fit.calibrations);
    CHECK(fit_exchanges({samples.begin(), samples.begin() + 5}).calibrations.empty());
}

TEST_CASE("an exchange takes the model of its step and number of members, of one library's kernels the faster") {
    ExchangeModel slow = some_model();
    slow.base_s *= 3;
    std::vector<ExchangeSample> samples = samples_of(some_model());
    std::vector<ExchangeSample> more = samples_of(slow, 16);
    samples.insert(samples.end(), more.begin(), more.end());
    std::vector<ExchangeSample> normal = samples_of(slow);
    for (ExchangeSample& sample : normal) {
        sample.key.variant = "deepep normal";
        sample.point.tokens *= 64;
    }
    samples.insert(samples.end(), normal.begin(), normal.end());
    Calibrations all(fit_exchanges(samples).calibrations);
    ExchangeRequest request{samples.front().key, samples.front().link, samples.front().point};
    request.key.software = "";
    request.key.variant = "";
    const Machine h100 = *find_machine("h100-sxm5");
    const auto own = all.expected_exchange(h100, request);
    REQUIRE(own);
    CHECK(own->model->key.variant == "deepep low latency");
    CHECK(own->model->key.members == 8);
    CHECK_FALSE(own->transferred);
    CHECK(own->seconds / samples.front().time_s == approx(1).epsilon(0.002));
    request.point.tokens = 16384;  // more tokens than low-latency kernels have buffers for
    CHECK(all.expected_exchange(h100, request)->model->key.variant == "deepep normal");
    request.point.tokens = 1;
    request.point.members = 32;
    const auto far = all.expected_exchange(h100, request);
    CHECK(far->model->key.members == 16);
    CHECK_FALSE(far->counted);
    request.point.members = 8;
    const auto transferred = all.expected_exchange(*find_machine("h200-sxm"), request);
    REQUIRE(transferred);
    CHECK(transferred->transferred);
    CHECK(transferred->error >= 0.4);  // there is nothing to estimate its error from
    request.key.step = ExchangeStep::combine;
    CHECK_FALSE(all.expected_exchange(h100, request));
}
