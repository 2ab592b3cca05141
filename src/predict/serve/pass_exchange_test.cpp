// Exchanges of Qwen3 30B A3B (D = 2048, 128 experts of which a token chooses 8, 48 layers) on 8 H100.
#include "predict/serve/pass_exchange.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "model/presets.hpp"
#include "predict/serve/expected_serving.hpp"

using namespace roofline::core;

namespace {

constexpr double layers = 48;
constexpr std::int64_t batch = 512;
constexpr double token_bytes = 2048 * 2;

struct OnEight {
    OnEight() {
        auto machine = find_machine("h100-sxm5");
        REQUIRE(machine);
        auto made = make_slice(*machine, "8");
        REQUIRE(made);
        slice = *made;
        const auto config = preset_config("qwen3-30b-a3b");
        REQUIRE(config);
        for (const bool decoding : {false, true}) {
            auto served = served_model(*config, decoding, {}, {}, Dtype::bf16);
            REQUIRE(served);
            (decoding ? decode : prefill) = *served;
        }
        plan.expert = 8;
    }
    [[nodiscard]] ServingSetup setup(const char* kernels) const {
        ServingSetup setup{prefill, decode, slice, calibrations, software, {}};
        if (*kernels == 0) return setup;
        const auto choice = built_in_exchanges().named(kernels);
        REQUIRE(choice);
        setup.exchange = *choice;
        return setup;
    }
    [[nodiscard]] Prediction decoded(const char* kernels) const {
        auto pass = priced_pass(setup(kernels), plan, CacheSplit::heads, decode_pass(batch, 1000));
        REQUIRE_MESSAGE(pass, pass.error().message);
        return std::move(*pass);
    }

    ServedModel prefill;
    ServedModel decode;
    Slice slice;
    Plan plan;
    std::shared_ptr<Calibrations> calibrations = std::make_shared<Calibrations>(Calibrations::built_in());
    std::string software;
};

/// Bytes of each kind of collective over the chips in one pass.
std::map<CollectiveKind, double> bytes_by_kind(const Prediction& pass) {
    std::map<CollectiveKind, double> sums;
    const Prediction& laid = fastest(pass);
    for (const MessageWork& each : laid.analysis.total.work.messages) {
        const auto bytes = each.message.bytes.evaluate(laid.program.sizes);
        const auto times = each.count.evaluate(laid.program.sizes);
        REQUIRE(bytes);
        REQUIRE(times);
        sums[each.message.kind] += bytes->to_double() * times->to_double();
    }
    return sums;
}

/// A calibration in which dispatch by DeepEP's low-latency kernels takes 100 us, and combine 300 us.
std::string constant_times() {
    std::string text = "machine = \"h100-sxm5\"\nfitted = \"2026-01-01\"\n";
    for (const auto& [step, us] : {std::pair{"dispatch", 100}, std::pair{"combine", 300}}) {
        text += fmt::format(
            "[[exchange]]\nstep = \"{}\"\nsoftware = \"sglang 1.0\"\nvariant = \"deepep low latency\"\nsystem = "
            "\"h100-sxm\"\ntiers = \"nvlink\"\ntopology = \"switch\"\ndomain = 8\nlink_rate = \"450 GB/s\"\nmembers = "
            "8\ntokens = [1, 1024]\nrows = 9\nsources = [\"s\"]\nerror_fitted = 0.01\nerror_sizes = 0.02\nbase_us = "
            "{}\n",
            step, us);
    }
    return text;
}

}  // namespace

TEST_CASE("all-gather brings all tokens to all chips and scatters the sums of their results") {
    const OnEight on;
    const auto bytes = bytes_by_kind(on.decoded("all-gather"));
    CHECK(bytes.count(CollectiveKind::all_to_all) == 0);
    // the partial sums of all tokens, once per layer
    REQUIRE(bytes.count(CollectiveKind::reduce_scatter) == 1);
    CHECK(bytes.at(CollectiveKind::reduce_scatter) == approx(layers * batch * token_bytes));
    // all tokens, and beside them the numbers and the weights of their 8 experts (4 and 2 bytes) or nothing of these
    REQUIRE(bytes.count(CollectiveKind::all_gather) == 1);
    CHECK(bytes.at(CollectiveKind::all_gather) >= layers * batch * token_bytes);
    CHECK(bytes.at(CollectiveKind::all_gather) <= layers * batch * (token_bytes + 8 * (4 + 2)));
}

TEST_CASE("all-to-alls bring a copy of each token for each of its experts, and bring results back") {
    const OnEight on;
    for (const char* kernels : {"deepep", "flashinfer", "nvlink one-sided"}) {
        const auto bytes = bytes_by_kind(on.decoded(kernels));
        CHECK(bytes.count(CollectiveKind::all_gather) == 0);
        CHECK(bytes.count(CollectiveKind::reduce_scatter) == 0);
        REQUIRE(bytes.count(CollectiveKind::all_to_all) == 1);
        CHECK(bytes.at(CollectiveKind::all_to_all) == approx(2 * layers * batch * 8 * token_bytes));
    }
}

TEST_CASE("kernels of exchanges change expected times and no bound") {
    const OnEight on;
    const Prediction any = on.decoded("");
    CHECK(exchange_of(any).kernels == nullptr);
    for (const char* kernels : {"all-gather", "deepep", "nvlink one-sided"}) {
        const Prediction pass = on.decoded(kernels);
        CHECK(pass.analysis.total.bounds.lower == any.analysis.total.bounds.lower);
        CHECK(pass_seconds(pass) != pass_seconds(any));
        CHECK(exchange_of(pass).kernels != nullptr);
        const ServingSetup setup = on.setup(kernels);
        const auto compiled = ExpectedServing::make({setup, on.plan}, {setup, on.plan}, decode_pass(batch, 1000));
        REQUIRE_MESSAGE(compiled, compiled.error().message);
        // the busiest chip has more than the others
        CHECK(compiled->decode(batch, 1000).seconds == approx(pass_seconds(pass)).epsilon(0.2));
    }
    Plan columns;
    columns.tensor = 8;
    const auto same_tokens = priced_pass(on.setup("deepep"), columns, CacheSplit::heads, decode_pass(batch, 1000));
    REQUIRE(same_tokens);
    CHECK(exchange_of(*same_tokens).kernels == nullptr);
    CHECK(exchange_notes(any, *same_tokens, "sglang").empty());
}

TEST_CASE("dispatch and combine take the time of the kernels' own model, whatever software runs them") {
    OnEight on;
    REQUIRE(on.calibrations->replace(constant_times(), "h100.toml"));
    const Prediction pass = on.decoded("deepep low latency");
    const PassExchange exchange = exchange_of(pass);
    REQUIRE(exchange.model != nullptr);
    CHECK(exchange.model->model->key.software == "sglang 1.0");
    CHECK(exchange.model->error == 0.02);
    CHECK(
        exchange_notes(pass, pass, "sglang") ==
        std::vector<std::string>{"tokens get to experts on other chips by deepep low latency, the default of sglang"});
    double exchanged_s = 0;
    const Prediction& laid = fastest(pass);
    for (std::size_t i = 0; i < laid.models.messages.size(); ++i) {
        const auto times = laid.analysis.total.work.messages[i].count.evaluate(laid.program.sizes);
        REQUIRE(laid.models.messages[i]);
        exchanged_s += times->to_double() * laid.models.messages[i]->seconds;
    }
    CHECK(exchanged_s == approx(layers * (100e-6 + 300e-6)));
}

TEST_CASE("kernels without a model take an all-to-all, with a token once to each chip if they send it so") {
    const OnEight on;
    const Prediction pass = on.decoded("nvlink one-sided");
    const PassExchange exchange = exchange_of(pass);
    CHECK(exchange.model == nullptr);
    // probability that none of 8 of 128 experts is among the 16 of a chip: C(112, 8) / C(128, 8)
    double missed = 1;
    for (int i = 0; i < 8; ++i) missed *= (112.0 - i) / (128.0 - i);
    const Prediction& laid = fastest(pass);
    int exchanges = 0;
    for (const auto& expected : laid.models.messages) {
        REQUIRE(expected);
        CHECK(expected->sent == approx(8 * (1 - missed) / 8).epsilon(1e-5));
        ++exchanges;
    }
    CHECK(exchanges > 0);
    const std::vector<std::string> notes = exchange_notes(pass, pass, "");
    REQUIRE(notes.size() == 2);
    CHECK(notes[0] == "tokens get to experts on other chips by nvlink one-sided, as --exchange says");
    CHECK(
        notes[1].starts_with("nvlink one-sided was not measured on such chips: dispatch and combine are expected to "
                             "take an all-to-all of "));
    CHECK(notes[1].ends_with(" in which a token goes once to each chip"));
}

TEST_CASE("a model that was measured with other chips is named with its error") {
    OnEight on;
    auto machine = find_machine("gb200");
    REQUIRE(machine);
    auto slice = make_slice(*machine, "32");
    REQUIRE(slice);
    on.slice = *slice;
    on.plan.expert = 32;
    const auto notes = exchange_notes(on.decoded("deepep"), on.decoded("deepep"), "sglang");
    REQUIRE(notes.size() == 2);
    CHECK(notes[1] == "deepep low latency was measured on 4 gb200 with sglang 0.5.12: its mean error here is 40 %");
}
