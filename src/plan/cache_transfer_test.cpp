#include "plan/cache_transfer.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"

using namespace roofline::core;

TEST_CASE("a transfer delays the first token by all of its time, or layer by layer by its last layer") {
    CacheTransfer transfer;
    transfer.seconds = {0.5, 0.01};
    transfer.layers = 10;
    // 0.5 + 0.01 * 350 = 4 s
    CHECK(transfer.exposed_s(350, 20) == approx(4));
    transfer.by_layer = true;
    // layers of 2 s are computed while those before are sent, 0.4 s each: the last one is left
    CHECK(transfer.exposed_s(350, 20) == approx(0.4));
    // layers of 0.1 s: all but the first wait for the network, which ends 0.1 + 4 s after the beginning of the prefill
    CHECK(transfer.exposed_s(350, 1) == approx(3.1));
    CHECK(transfer.exposed_s(350, 4) == approx(0.4));
}
