#include "predict/compare/error_summary.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace roofline::core;

namespace {

Comparison row(std::string system, std::string operation, double bytes, double measured_s, double lower_s) {
    Comparison result;
    result.system = std::move(system);
    result.operation = std::move(operation);
    result.bytes = bytes;
    result.measured_s = measured_s;
    result.prediction.lower_s = lower_s;
    return result;
}

const ErrorGroup& group(const ErrorSummary& summary, std::string_view by, std::string_view name,
                        std::string_view operation = "") {
    const auto found = std::find_if(summary.groups.begin(), summary.groups.end(), [&](const ErrorGroup& each) {
        return each.by == by && each.name == name && each.operation == operation;
    });
    REQUIRE(found != summary.groups.end());
    return *found;
}

}  // namespace

TEST_CASE("mean, median and the ninth decile") {
    // 0.1 to 1.1: the mean and the median are 0.6, and nine tenths of the way is 1.0
    std::vector<double> errors;
    for (int i = 11; i >= 1; --i) errors.push_back(i * 0.1);
    const ErrorStats stats = error_stats(errors);
    CHECK(stats.rows == 11);
    CHECK(stats.mean == approx(0.6));
    CHECK(stats.median == approx(0.6));
    CHECK(stats.p90 == approx(1.0));
    // linear interpolation between two values: halfway, and nine tenths of the way
    CHECK(error_stats({0.0, 1.0}).median == approx(0.5));
    CHECK(error_stats({0.0, 1.0}).p90 == approx(0.9));
    CHECK(error_stats({0.25}).p90 == approx(0.25));
    CHECK(error_stats({}).rows == 0);
}

TEST_CASE("errors are relative to what was measured") {
    const Comparison slow = row("a", "x", 10, 4, 1);
    CHECK(slow.error() == approx(0.75));
    CHECK(!slow.below_lower());
    Comparison fast = row("a", "x", 10, 4, 5);
    CHECK(fast.error() == approx(0.25));
    CHECK(fast.below_lower());
    fast.rounding_s = 1;
    CHECK(!fast.below_lower());  // the rounded 4 may have been 5
    fast.prediction.expected_s = 6;
    CHECK(fast.error() == approx(0.5));
    CHECK(fast.error_of_lower() == approx(0.25));
}

TEST_CASE("rows are grouped by what they have in common") {
    std::vector<Comparison> rows{row("b", "x", 500, 4, 1), row("a", "x", 2000, 4, 2), row("a", "y", 1e6, 4, 3),
                                 row("a", "y", 9.9e6, 4, 5)};
    rows[3].devices = 16;
    rows[0].devices = 8;
    const ErrorSummary summary = summarise(rows);
    CHECK(!summary.of_expected);
    CHECK(summary.error.mean == approx((0.75 + 0.5 + 0.25 + 0.25) / 4));
    CHECK(summary.below_lower == 1);
    CHECK(summary.below == std::vector<std::size_t>{3});
    CHECK(summary.worst == std::vector<std::size_t>{0, 1, 2, 3});
    CHECK(group(summary, "system", "a").error.mean == approx(1.0 / 3));
    CHECK(group(summary, "system", "a").below_lower == 1);
    CHECK(group(summary, "system", "b").below_lower == 0);
    CHECK(group(summary, "operation", "y").error.rows == 2);
    CHECK(group(summary, "system", "a", "x").error.mean == approx(0.5));
    CHECK(group(summary, "size", "below 1 kB").error.rows == 1);
    CHECK(group(summary, "size", "1 kB to 10 kB").error.rows == 1);
    CHECK(group(summary, "size", "1 MB to 10 MB").error.rows == 2);
    std::vector<std::string> devices;
    for (const ErrorGroup& each : summary.groups) {
        if (each.by == "devices" && each.operation.empty()) devices.push_back(each.name);
    }
    CHECK(devices == std::vector<std::string>{"1", "8", "16"});
    CHECK(!summary.repeats);
}

TEST_CASE("where anything is calibrated the error is that of expected times") {
    std::vector<Comparison> rows{row("a", "x", 1e3, 4, 1), row("b", "x", 1e3, 4, 1)};
    rows[1].prediction.expected_s = 5;
    const ErrorSummary summary = summarise(rows);
    CHECK(summary.of_expected);
    CHECK(summary.error.rows == 1);
    CHECK(summary.error.mean == approx(0.25));
    CHECK(summary.error_of_lower.rows == 2);
    CHECK(summary.error_of_lower.mean == approx(0.75));
    CHECK(group(summary, "system", "a").error.rows == 0);
    CHECK(summary.worst == std::vector<std::size_t>{1});
}

TEST_CASE("repeats of one measurement are the noise floor") {
    // relative to their median 10 the errors are 0.1, 0 and 0.2; the fourth row has another size
    const std::vector<Comparison> rows{row("a", "x", 1e3, 9, 1), row("a", "x", 1e3, 10, 1), row("a", "x", 1e3, 12, 1),
                                       row("a", "x", 2e3, 99, 1)};
    const ErrorSummary summary = summarise(rows);
    REQUIRE(summary.repeats);
    CHECK(summary.repeats->rows == 3);
    CHECK(summary.repeats->mean == approx(0.1));
}

TEST_CASE("a size at the edge of a decade is in the upper one") {
    for (int decade = 3; decade <= 15; ++decade) {
        const double edge = std::pow(10.0, decade);
        CHECK(size_decade(edge) != size_decade(edge * 0.999));
        CHECK(size_decade(edge) == size_decade(edge * 9.99));
    }
    CHECK(size_decade(999) == "below 1 kB");
}

TEST_CASE("no rows, no errors") {
    const ErrorSummary summary = summarise({});
    CHECK(summary.error.rows == 0);
    CHECK(summary.groups.empty());
    CHECK(summary.worst.empty());
}

TEST_CASE("runs are grouped by publisher and by strategy, and their memory is compared separately") {
    std::vector<Comparison> rows{row("a", "train", 0, 4, 2), row("a", "train", 0, 4, 3), row("a", "train", 0, 0, 3)};
    for (Comparison& each : rows) {
        each.kind = MeasuredKind::training;
        each.source = "x";
    }
    rows[0].strategy = "fsdp";
    rows[1].memory = MemoryComparison{100, 90, "reserved"};
    rows[2].memory = MemoryComparison{50, 60, "allocated"};
    rows[2].source = "y";
    const ErrorSummary summary = summarise(rows);
    // the last row has no time, so it is neither part of the errors nor below its bound
    CHECK(summary.error.rows == 2);
    CHECK(summary.error.mean == approx(0.375));
    CHECK(summary.error_of_lower.rows == 2);
    CHECK(summary.below_lower == 0);
    CHECK(summary.worst == std::vector<std::size_t>{0, 1});
    CHECK(group(summary, "source", "x").error.rows == 2);
    CHECK(group(summary, "strategy", "fsdp").error.mean == approx(0.5));
    CHECK(group(summary, "strategy", "one chip").error.mean == approx(0.25));
    CHECK(std::none_of(summary.groups.begin(), summary.groups.end(),
                       [](const ErrorGroup& each) { return each.by == "size" || each.name == "y"; }));
    CHECK(summary.memory.rows == 2);
    CHECK(summary.memory.mean == approx((0.1 + 0.2) / 2));
    REQUIRE(summary.memory_groups.size() == 4);
    CHECK(summary.memory_groups[1].by == "source");
    CHECK(summary.memory_groups[1].name == "y");
    CHECK(summary.memory_groups[1].error.mean == approx(0.2));
    CHECK(summary.memory_groups[3].by == "what");
    CHECK(summary.memory_groups[3].name == "reserved");
}

TEST_CASE("served models are grouped by model, mode and software, each by metric") {
    std::vector<Comparison> rows{row("a", "decode", 0, 4, 2), row("a", "decode", 0, 4, 3), row("a", "prefill", 0, 4, 1),
                                 row("a", "decode", 0, 4, 1)};
    for (Comparison& each : rows) {
        each.kind = MeasuredKind::serving;
        each.model = "m";
        each.mode = "aggregated";
        each.software = "vllm 9";
    }
    rows[3].model = "n";
    rows[3].mode = "disaggregated";
    rows[3].software = "sglang 9";
    const ErrorSummary summary = summarise(rows);
    // errors of 1/2, 1/4, 3/4 and, of the other model, 3/4
    CHECK(group(summary, "model", "m").error.mean == approx(0.5));
    CHECK(group(summary, "model", "m", "decode").error.mean == approx(0.375));
    CHECK(group(summary, "model", "m", "prefill").error.median == approx(0.75));
    CHECK(group(summary, "model", "n").error.rows == 1);
    CHECK(group(summary, "mode", "aggregated", "decode").error.rows == 2);
    CHECK(group(summary, "mode", "disaggregated", "decode").error.mean == approx(0.75));
    CHECK(group(summary, "software", "vllm 9", "decode").error.median == approx(0.375));
    CHECK(group(summary, "software", "sglang 9", "decode").error.rows == 1);
    // other kinds of measurements have neither
    for (Comparison& each : rows) each.kind = MeasuredKind::kernel;
    const ErrorSummary of_kernels = summarise(rows);
    CHECK(std::none_of(of_kernels.groups.begin(), of_kernels.groups.end(),
                       [](const ErrorGroup& each) { return each.by == "model" || each.by == "mode"; }));
}

TEST_CASE("of two set-ups that differ by more than a tenth the faster one is named, or not") {
    const auto run = [](std::string strategy, double measured_s, double expected_s) {
        Comparison result = row("a", "decode", 0, measured_s, 0.1);
        result.kind = MeasuredKind::serving;
        result.shape = "m 8+8, 4 at a time";
        result.strategy = std::move(strategy);
        result.prediction.expected_s = expected_s;
        return result;
    };
    // Of tp1 (10 s), tp2 (8 s) and tp4 (7.5 s) all pairs but that of tp2 and tp4 differ by more than a tenth. Both are
    // expected to be faster than tp1: right. A second tp1 row, of 5 s, makes a pair with either, expected the other way
    // round, and none with the first one, because it is the same set-up.
    std::vector<Comparison> rows{run("tp1", 10, 4), run("tp2", 8, 3), run("tp4", 7.5, 3.5), run("tp1", 5, 4)};
    ErrorSummary summary = summarise(rows);
    REQUIRE(summary.order.size() == 1);
    CHECK(summary.order[0].operation == "decode");
    CHECK(summary.order[0].pairs == 4);
    CHECK(summary.order[0].right == 2);
    CHECK(summary.order[0].fraction() == approx(0.5));
    // Equal expected times name none.
    rows[1].prediction.expected_s = 4;
    CHECK(summarise(rows).order[0].right == 1);
    // A row of another load, without an expected time or of another kind is not part of any pair.
    rows[0].shape = "m 8+8, 5 at a time";
    CHECK(summarise(rows).order[0].pairs == 2);
    rows[3].prediction.expected_s.reset();
    CHECK(summarise(rows).order.empty());
    for (Comparison& each : rows) each.kind = MeasuredKind::kernel;
    rows[0].shape = rows[1].shape;
    CHECK(summarise(rows).order.empty());
    // Exactly a tenth is not more than a tenth.
    CHECK(summarise({run("tp1", 11, 2), run("tp2", 10, 1)}).order.empty());
    CHECK(summarise({run("tp1", 11.01, 2), run("tp2", 10, 1)}).order[0].right == 1);
    // Either side of the other set-up, software and slice tell set-ups apart as well.
    Comparison other = run("tp1", 20, 1);
    other.software = "vllm 9";
    CHECK(summarise({run("tp1", 10, 4), other}).order[0].right == 0);
}
