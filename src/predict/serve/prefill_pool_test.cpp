#include "predict/serve/prefill_pool.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "model/presets.hpp"

using namespace roofline::core;

TEST_CASE("slices that prefill have room for prompts beside their weights and activations") {
    const auto machine = find_machine("h100-sxm5");
    REQUIRE(machine);
    const auto slice = make_slice(*machine, "1");
    REQUIRE(slice);
    const auto config = preset_config("llama-3.1-8b");
    REQUIRE(config);
    const auto served = served_model(*config, false, {}, {}, Dtype::bf16);
    REQUIRE(served);
    const auto none = std::make_shared<Calibrations>(std::vector<Calibration>{});
    const ServingSetup setup{*served, *served, *slice, none, "", {}};
    // 8,030,261,248 parameters in bf16; keys and values of 8 heads of 128 in 32 layers, in bf16
    constexpr double weights = 2 * 8'030'261'248.0;
    constexpr double token_bytes = 2 * 2 * 8 * 128 * 32;
    PrefillPool pool;
    pool.chip_memory.activations = 1e9;
    // without a known capacity there is no limit
    REQUIRE(find_prefill_room(pool, setup, {nullptr, 0.5, 64}, 1000));
    CHECK(pool.room_tokens == 0);
    pool.capacity = 80e9;
    REQUIRE(find_prefill_room(pool, setup, {nullptr, 0.5, 64}, 1000));
    CHECK(pool.block == 64);
    CHECK(pool.room_tokens == approx((0.5 * 80e9 - weights - 1e9) / token_bytes));
    // a chip that is full takes one prompt after another
    pool.capacity = 17e9;
    REQUIRE(find_prefill_room(pool, setup, {nullptr, 0.5, 64}, 1000));
    CHECK(pool.room_tokens == 1);
}
