// Quantities derived from the times of passes, with the numbers of a book.
#include "predict/serve/serve_answer.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

// Llama 3 70B: prefill takes 0.91 s, a decode step 19 ms at batch 32, and 512 tokens are generated ("How to Scale Your
// Model", chapter 8).
ServeAnswer book() {
    ServeAnswer answer;
    answer.batch = 32;
    answer.output = 512;
    answer.prefill.expected_s = 0.91;
    answer.decode.expected_s = 0.019;
    return answer;
}

}  // namespace

TEST_CASE("three slices prefill for each that decodes") {
    ServeAnswer answer = book();
    CHECK(prefill_ratio(answer) == approx(2.9934).epsilon(0.0001));
    answer.batch = 43;
    CHECK(prefill_ratio(answer) == approx(4.0224).epsilon(0.0001));
    answer.plan.data = 2;  // two prompts at the same time
    CHECK(prefill_ratio(answer) == approx(2.0112).epsilon(0.0001));
}

TEST_CASE("the same chips spend most of their time on prompts, or others do that for them") {
    ServeAnswer answer = book();
    CHECK(decode_tokens_per_s(answer) == approx(32 / 0.019));
    // 32 prompts take 29.12 s and 512 steps 9.728 s
    CHECK(served_tokens_per_s(answer) == approx(32 * 512 / (29.12 + 9.728)));
    CHECK(serving_chips(answer) == 1);
    answer.prefill_pool.emplace();
    CHECK(served_tokens_per_s(answer) == approx(32 / 0.019));
    CHECK(serving_chips(answer) == approx(3.9934).epsilon(0.0001));
}

TEST_CASE("cost is chips times price over tokens") {
    ServeAnswer answer = book();
    CHECK_FALSE(usd_per_million(answer, 16, 0, 1000));
    answer.slice.machine.price = Price{1.2 / 3600};
    // 19.2 USD per hour for 3.6 million tokens
    CHECK(usd_per_million(answer, 16, 0, 1000).value() == approx(19.2 / 3.6));
    // without a pool there is nothing else to pay
    CHECK(usd_per_million(answer, 16, 5, 1000).value() == approx(19.2 / 3.6));
    answer.prefill_pool.emplace();
    CHECK_FALSE(usd_per_million(answer, 16, 5, 1000));
    CHECK(usd_per_million(answer, 16, 0, 1000));
    answer.prefill_pool->slice.machine.price = Price{2.0 / 3600};
    CHECK(usd_per_million(answer, 16, 5, 1000).value() == approx((19.2 + 10) / 3.6));
}
