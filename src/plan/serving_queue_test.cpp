#include "plan/serving_queue.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

// An iteration takes 1 s and 0.1 s more per sequence, a prompt 10 s.
const ServingCosts costs{[](double sequences) { return 1 + 0.1 * sequences; },
                         [](double prompts) { return 10 * prompts; }};

}  // namespace

TEST_CASE("one request at a time: its prompt, then an iteration for each further token") {
    const ServingTimes times = serving_times({.requests = 1, .output = 5, .rounds = 3}, costs);
    CHECK(times.ttft_s == approx(10));
    CHECK(times.later_ttft_s == approx(10));
    CHECK(times.tpot_s == approx(1.1));
    CHECK(times.requests_per_s == approx(1 / 14.4));
    CHECK(times.running == approx(4.4 / 14.4));
}

TEST_CASE("two at once: the second waits for the first, whose tokens wait for the second's prompt") {
    // 0 to 10: the prompt of a; to 21.1: that of b with the second token of a; to 22.3: the second token of b, the
    // third and last of a; to 23.4: the last of b.
    const ServingTimes times = serving_times({.requests = 2, .output = 3, .rounds = 1}, costs);
    CHECK(times.ttft_s == approx((10 + 21.1) / 2));
    CHECK(times.later_ttft_s == times.ttft_s);
    CHECK(times.tpot_s == approx((22.3 - 10 + 23.4 - 21.1) / 4));
    CHECK(times.requests_per_s == approx(2 / 23.4));
}

TEST_CASE("an answered request is followed by the next, which is admitted at once") {
    // As above to 22.3, where c arrives; its prompt and the last token of b take 11.1, to 33.4; d arrives then: its
    // prompt and the second token of c, to 44.5; the last of c and the second of d, to 45.7; the last of d, to 46.8.
    const ServingTimes times = serving_times({.requests = 2, .output = 3, .rounds = 2}, costs);
    CHECK(times.ttft_s == approx((10 + 21.1 + 11.1 + 11.1) / 4));
    CHECK(times.later_ttft_s == approx(11.1));
    CHECK(times.tpot_s == approx((12.3 + 12.3 + 12.3 + 2.3) / 8));
}

TEST_CASE("prompts are processed together if an iteration allows it") {
    // 20 s for both prompts, then two iterations of 1.2 s.
    const ServingTimes times = serving_times({.requests = 2, .output = 3, .together = 2, .rounds = 1}, costs);
    CHECK(times.ttft_s == approx(20));
    CHECK(times.tpot_s == approx(1.2));
}

TEST_CASE("a long prompt is processed in chunks, between which other requests get tokens") {
    // a: 10 s in two iterations. b: two iterations of 5 s beside the second and third token of a, 1.1 s each, to 22.2;
    // then b alone, twice.
    const ServingTimes times = serving_times({.requests = 2, .output = 3, .chunks = 2, .rounds = 1}, costs);
    CHECK(times.ttft_s == approx((10 + 22.2) / 2));
    CHECK(times.tpot_s == approx((12.2 + 2.2) / 4));
}

TEST_CASE("a request whose cache does not fit waits until another one finishes") {
    // One after the other: 10 + 2 * 1.1 each.
    const ServingTimes times = serving_times({.requests = 2, .output = 3, .room = 1, .rounds = 1}, costs);
    CHECK(times.ttft_s == approx((10 + 22.2) / 2));
    CHECK(times.tpot_s == approx(1.1));
    CHECK(times.running == approx(4.4 / 24.4));
}

TEST_CASE("prefill makes the only token, and there is nothing to decode") {
    const ServingTimes times = serving_times({.requests = 3, .output = 1, .rounds = 2}, costs);
    CHECK(times.tpot_s == 0);
    CHECK(times.running == 0);
    CHECK(times.requests_per_s == approx(0.1));
}

TEST_CASE("the simulation time does not depend on tokens, and the number of requests is limited") {
    const ServingTimes times = serving_times({.requests = 1'000'000'000, .output = 1'000'000'000, .rounds = 1}, costs);
    CHECK(times.tpot_s > 1);
}

TEST_CASE("different output lengths separate requests that arrived together") {
    // Both are admitted at once, as fast as one; 0.618 and 0.236 of the way from 2 to 6 tokens gives 4 and 3 of them.
    const ServingCosts plain{[](double) { return 1.0; }, [](double) { return 10.0; }};
    const ServingTimes times =
        serving_times({.requests = 2, .output = 4, .together = 2, .rounds = 1, .spread = 0.5}, plain);
    CHECK(times.ttft_s == approx(10));
    CHECK(times.tpot_s == approx(1));
    CHECK(times.running == approx((3.0 + 2.0) / 13));
    CHECK(times.requests_per_s == approx(2.0 / 13));
}

TEST_CASE("time and requests agree with Little's law") {
    const ServingTimes times = serving_times({.requests = 50, .output = 200, .together = 4, .rounds = 10}, costs);
    CHECK(times.running == approx(times.requests_per_s * 199 * times.tpot_s));
    CHECK(times.running < 50);
}
