// Published runs of LoRA.
#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "predict/compare/training_row_test.hpp"
#include "predict/compare/training_runs_test.hpp"

using namespace roofline::core;

TEST_CASE("a row of LoRA trains the adapters that its publisher's benchmark has") {
    MeasuredTraining row = two_layers(8);
    row.source = "mlcommons/training_results_v4.0";
    row.model = "llama2-70b";
    row.layers = row.hidden = row.ffn = row.heads = row.vocab = 0;  // as in its configuration
    row.sequence = 8192;
    row.sequences = 8;
    row.micro_batch = 1;
    row.system = "h200-sxm";
    row.dtype = "fp8";
    row.lora = true;
    const auto compared = trainings().compare(row);
    REQUIRE(compared);
    // FLOPs per token: 4 for a frozen parameter, in fp8 except the head's, and 6 for one of an adapter. A layer has
    // 2 h^2 + 2 h * 1024 + 3 h * 28672 of the former, and factors of 16 x (h + 10240) and 16 x (h + h) of the latter
    const double h = 8192;
    const double tokens = 8192;
    const double frozen = 80 * (2 * h * h + 2 * h * 1024 + 3 * h * 28672);
    const double adapters = 80 * 16 * (h + 10240 + h + h);
    CHECK(adapters == 44564480);
    const double attention = 80 * tokens * (2 * h * 8192 / 2) * 7;
    const double wide = tokens * (6 * adapters + 4 * 32000 * h) + attention;
    CHECK(compared->prediction.lower_s == approx(4 * tokens * frozen / 1978.9e12 + wide / 989.4e12).epsilon(1e-9));
    row.source = "somebody";
    CHECK(reason(row) == "it is not known which adapters of `llama2-70b` were trained (LoRA)");
}

TEST_CASE("tensor collectives beside frozen weights are exposed, whatever the row of MLPerf says") {
    auto runs = MeasuredTrainingRuns::make(*MeasuredSystems::make(), Calibrations::built_in());
    REQUIRE(runs);
    MeasuredTraining row = two_layers(4, 2);
    row.source = "mlcommons/training_results_v4.0";
    row.model = "llama2-70b";
    row.ffn = row.heads = row.vocab = 0;
    row.hidden = 8192;
    row.micro_batch = 1;
    row.sequences = 4;
    row.system = "h200-sxm";
    const auto expected = [&](bool lora, std::vector<std::string> overlapped) {
        row.lora = lora;
        row.overlapped = std::move(overlapped);
        const auto compared = runs->compare(row);
        REQUIRE(compared);
        return compared->prediction.expected_s.value_or(0);
    };
    CHECK(expected(true, {"tensor"}) == approx(expected(true, {})));
    CHECK(expected(false, {"tensor"}) < 0.99 * expected(false, {}));
}
