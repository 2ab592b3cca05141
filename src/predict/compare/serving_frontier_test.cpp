#include "predict/compare/serving_frontier.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

/// A measured and an expected time.
using Times = std::pair<double, double>;

void add(std::vector<Comparison>& rows, int line, std::string operation, std::string slice, const MeasuredLoad& load,
         Times seconds) {
    Comparison row;
    row.line = line;
    row.kind = MeasuredKind::serving;
    row.source = "s";
    row.model = "m";
    row.system = "h";
    row.slice = std::move(slice);
    row.strategy = "tp2";
    row.operation = std::move(operation);
    row.load = load;
    row.measured_s = seconds.first;
    row.prediction.expected_s = seconds.second;
    rows.push_back(std::move(row));
}

// Outputs of 101 tokens. Two chips with one request at a time take 1 s + 100 * 10 ms = 2 s: 100 tokens/s per user and
// 101 / 2 s / 2 = 25.25 per chip. With eight requests they take 4 s: 50 per user, 101 per chip. The expected times have
// TPOTs that are longer by a quarter, and latencies longer by an eighth: 80 and 40 tokens/s per user, 8/9 of the
// tokens/s per chip. Four chips have a measured throughput of 1616 tokens/s, 404 per chip, at 25 per user, and another
// time 400, of which half are expected.
std::vector<Comparison> two_set_ups() {
    std::vector<Comparison> rows;
    const MeasuredLoad one{1000, 101, 1, 2};
    add(rows, 2, "decode", "h:2", one, {0.010, 0.0125});
    add(rows, 2, "prefill", "h:2", one, {1, 1});
    const MeasuredLoad eight{1000, 101, 8, 2};
    add(rows, 3, "decode", "h:2", eight, {0.020, 0.025});
    add(rows, 3, "prefill", "h:2", eight, {2, 2});
    const MeasuredLoad many{1000, 101, {}, 4};
    add(rows, 4, "decode", "h:4", many, {0.040, 0.050});
    add(rows, 4, "throughput", "h:4", many, {1 / 1616.0, 9 / (8 * 1616.0)});
    add(rows, 5, "decode", "h:4", many, {0.040, 0.050});
    add(rows, 5, "throughput", "h:4", many, {1 / 400.0, 1 / 200.0});
    return rows;
}

}  // namespace

TEST_CASE("a load is a point: tokens/s per user, and per chip as measured or by Little's law") {
    const ServingFrontiers frontiers = serving_frontiers(two_set_ups());
    REQUIRE(frontiers.curves.size() == 2);
    const ServedCurve& two = frontiers.curves[0];
    CHECK(two.slice == "h:2");
    CHECK(two.task.model == "m");
    CHECK(two.task.prompt == 1000);
    REQUIRE(two.points.size() == 2);
    CHECK(two.points[0].line == 3);  // the slower one first
    CHECK(two.points[0].concurrency == 8);
    CHECK(two.points[0].measured.user == approx(50));
    CHECK(two.points[0].measured.chip == approx(101));
    CHECK(two.points[1].measured.user == approx(100));
    CHECK(two.points[1].measured.chip == approx(25.25));
    REQUIRE(two.points[1].expected);
    CHECK(two.points[1].expected->user == approx(80));
    CHECK(two.points[1].expected->chip == approx(25.25 * 8 / 9));
    const ServedCurve& four = frontiers.curves[1];
    REQUIRE(four.points.size() == 2);
    CHECK(four.points[0].measured.chip == approx(404));
    CHECK(four.points[0].expected->chip == approx(404 * 8.0 / 9));
    // 1/9 three times, and a half
    CHECK(frontiers.per_chip.rows == 4);
    CHECK(frontiers.per_chip.mean == approx((3 / 9.0 + 0.5) / 4));
}

TEST_CASE("frontiers are compared at equal tokens/s per user") {
    // Measured tokens/s per chip times the square of those per user are 252,500 at each point of the frontier, expected
    // ones 8/9 * 0.8^2 of that, from 20 to 80 per user. The point of 100 per user is outside, and the second row of
    // four chips is below both frontiers.
    const ServingFrontiers frontiers = serving_frontiers(two_set_ups());
    CHECK(frontiers.tasks == 1);
    CHECK(frontiers.distance.rows == 2);
    CHECK(frontiers.outside == 1);
    CHECK(frontiers.distance.median == approx(1 - 8 / 9.0 * 0.64));
    CHECK(frontiers.distance.p90 == approx(1 - 8 / 9.0 * 0.64));
    // Set-ups of different tasks have frontiers of their own: the four chips' one is a single point that is expected at
    // another number of tokens/s per user, and that of two chips is met at 50 per user.
    std::vector<Comparison> rows = two_set_ups();
    for (Comparison& row : rows) {
        if (row.slice == "h:4") row.dtype = "fp8";
    }
    const ServingFrontiers apart = serving_frontiers(rows);
    CHECK(apart.tasks == 1);
    CHECK(apart.distance.rows == 1);
    CHECK(apart.outside == 2);
}

TEST_CASE("a load without all of its figures is no point, and one without expected times is in no frontier") {
    std::vector<Comparison> rows = two_set_ups();
    for (std::size_t i : {0U, 1U}) rows[i].load->chips = 0;         // unknown
    for (std::size_t i : {2U, 3U}) rows[i].load->concurrency = {};  // no limit, and no throughput
    rows[5].prediction.expected_s.reset();
    const ServingFrontiers frontiers = serving_frontiers(rows);
    REQUIRE(frontiers.curves.size() == 1);
    CHECK(frontiers.curves[0].slice == "h:4");
    REQUIRE(frontiers.curves[0].points.size() == 2);
    CHECK_FALSE(frontiers.curves[0].points[0].expected);
    CHECK(frontiers.per_chip.rows == 1);
    CHECK(frontiers.distance.rows == 0);
    CHECK(serving_frontiers({}).curves.empty());
    for (Comparison& row : rows) row.kind = MeasuredKind::training;
    CHECK(serving_frontiers(rows).curves.empty());
}
