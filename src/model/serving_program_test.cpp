// Forward passes of small models, worked out by hand.
#include "model/serving_program.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/approx_test.hpp"
#include "model/models_test.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

ServingDtypes stored_as(const Model& model, std::optional<Dtype> weights, Dtype kv) {
    auto bytes = weight_bytes(model, weights, std::nullopt);
    REQUIRE(bytes);
    return {bytes->by_value, kv};
}

Program pass_of(const Model& model, const ServingPass& pass, std::optional<Dtype> weights = Dtype::bf16,
                Dtype kv = Dtype::bf16) {
    auto program = serving_program(model.program, model, pass, stored_as(model, weights, kv));
    REQUIRE(program);
    return std::move(*program);
}

double matmul_flops(const Program& program) {
    auto work = derive_work(program);
    REQUIRE(work);
    const auto flops = work->total.flops(Unit::matmul).evaluate(program.sizes);
    REQUIRE(flops);
    return flops->to_double();
}

double bytes_read(const Program& program) {
    auto work = derive_work(program);
    REQUIRE(work);
    const auto bytes = work->total.memory.at("hbm").read.evaluate(program.sizes);
    REQUIRE(bytes);
    return bytes->to_double();
}

const Value& value_called(const Program& program, std::string_view name) {
    const auto found = std::find_if(program.values.begin(), program.values.end(),
                                    [&](const Value& value) { return value.name == name; });
    REQUIRE(found != program.values.end());
    return *found;
}

}  // namespace

// Llama 2 7B: L = 32, D = 4096, F = 11008, K = 32, H = 128, V = 32000.
constexpr double multiplying = 32.0 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008) + 4096.0 * 32000;

TEST_CASE("a decode iteration multiplies every weight once and attends to the whole context") {
    const Model model = model_named("llama-2-7b", 1);
    const Program step = pass_of(model, decode_pass(4, 1000));
    // 2 FLOPs per weight, plus scores and values: 2 * 2 * S * K * H per layer
    CHECK(matmul_flops(step) == approx(4 * (2 * multiplying + 32 * 4.0 * 1000 * 4096)));
    // weights and caches are read at least once; activations are small in comparison
    const double least = 2 * multiplying + 4 * 32 * 2.0 * 1000 * 4096 * 2;
    CHECK(bytes_read(step) > least);
    CHECK(bytes_read(step) < 1.01 * least);
}

TEST_CASE("a pass that verifies drafts reads weights and caches once for all of its queries") {
    const Model model = model_named("llama-2-7b", 1);
    const Program step = pass_of(model, decode_pass(4, 1000, 3));
    // three tokens of each sequence, each of which attends to the context and needs its logits
    CHECK(matmul_flops(step) == approx(3 * 4 * (2 * multiplying + 32 * 4.0 * 1000 * 4096)));
    const double least = 2 * multiplying + 4 * 32 * 2.0 * 1000 * 4096 * 2;
    CHECK(bytes_read(step) > least);
    CHECK(bytes_read(step) < 1.02 * least);
}

TEST_CASE("with a window a verification reads only the window, even of a context shorter than its queries") {
    const Model model = model_named("gpt-oss-20b", 1);
    const auto flops = [&](std::int64_t queries, std::int64_t context) {
        return matmul_flops(pass_of(model, decode_pass(1, context, queries)));
    };
    // as above for one query: 12 of 24 layers attend to 6000 tokens more, with 64 heads of width 64
    CHECK(flops(4, 10000) - flops(4, 4000) == approx(4 * 12 * 4.0 * 6000 * 64 * 64));
    CHECK(flops(4, 2) - flops(4, 1) == approx(4 * 24 * 4.0 * 64 * 64));
}

TEST_CASE("a prefill computes only the logits of the last token") {
    const Model model = model_named("llama-2-7b", 1);
    const Program prefill = pass_of(model, {1, 1000, 1000});
    const double layers = multiplying - 4096.0 * 32000;
    // a causal mask counts half
    const double attention = 32 * 4.0 * 1000 * 1000 * 4096 / 2;
    CHECK(matmul_flops(prefill) == approx(2 * 1000 * layers + 2 * 4096.0 * 32000 + attention));
}

TEST_CASE("weights and caches are stored in their dtypes, and integers only reduce storage") {
    const Model model = model_named("llama-2-7b", 1);
    const Program step = pass_of(model, decode_pass(4, 1000), Dtype::int8, Dtype::int8);
    CHECK(value_called(step, "Wq").type.dtype == Dtype::int8);
    CHECK(value_called(step, "Kc").type.dtype == Dtype::int8);
    CHECK(value_called(step, "X").type.dtype == Dtype::bf16);
    auto work = derive_work(step);
    REQUIRE(work);
    for (const ComputeWork& each : work->total.compute) {
        if (each.unit == Unit::matmul) CHECK(each.dtype == Dtype::bf16);
    }
    const double least = multiplying + 4 * 32 * 2.0 * 1000 * 4096;
    CHECK(bytes_read(step) > least);
    CHECK(bytes_read(step) < 1.02 * least);
}

TEST_CASE("matmuls with fp8 weights run in fp8, attention in the dtype of the queries") {
    const Model model = model_named("llama-2-7b", 1);
    const Program step = pass_of(model, decode_pass(1, 1000), Dtype::fp8, Dtype::bf16);
    auto work = derive_work(step);
    REQUIRE(work);
    double fp8 = 0;
    double bf16 = 0;
    for (const ComputeWork& each : work->total.compute) {
        if (each.unit != Unit::matmul) continue;
        (each.dtype == Dtype::fp8 ? fp8 : bf16) += each.flops.evaluate(step.sizes)->to_double();
    }
    CHECK(fp8 == approx(2 * multiplying));
    CHECK(bf16 == approx(32 * 4.0 * 1000 * 4096));
}

TEST_CASE("with a window a decode iteration reads only the window") {
    // gpt-oss-20b: 12 of 24 layers have a window of 128; 8 heads of keys and values with 8 queries each, of width 64
    const Model model = model_named("gpt-oss-20b", 1);
    const Program far = pass_of(model, decode_pass(1, 10000));
    const Program near = pass_of(model, decode_pass(1, 4000));
    CHECK(matmul_flops(far) - matmul_flops(near) == approx(12 * 4.0 * 6000 * 64 * 64));
    CHECK(bytes_read(far) - bytes_read(near) == approx(12 * 2.0 * 6000 * 8 * 64 * 2));
    const Program short_one = pass_of(model, decode_pass(1, 128));
    const Program shorter = pass_of(model, decode_pass(1, 127));
    CHECK(bytes_read(short_one) - bytes_read(shorter) == approx(24 * 2.0 * 8 * 64 * 2));
}

TEST_CASE("the expected number of chosen experts is read, or all of them") {
    // Mixtral 8x22B: E = 8, A = 2, D = 6144, I = 16384, L = 56: an expert has 3 D I weights
    const Model model = model_named("mixtral-8x22b", 1);
    const double expert = 3 * 6144.0 * 16384 * 2;
    const double one = bytes_read(pass_of(model, decode_pass(1, 1)));
    const double two = bytes_read(pass_of(model, decode_pass(2, 1)));
    const double five = bytes_read(pass_of(model, decode_pass(5, 1)));
    const double all = bytes_read(pass_of(model, {5, 1, 1, ServingPhase::decode, ExpertsRead::all}));
    CHECK(two - one == approx(56 * 2 * expert).epsilon(0.001));   // 8 (1 - (3/4)^2) = 3.5, rounded to 4 experts
    CHECK(five - two == approx(56 * 2 * expert).epsilon(0.001));  // 8 (1 - (3/4)^5) = 6.1
    CHECK(all - five == approx(56 * 2 * expert).epsilon(0.001));
}

TEST_CASE("a pass has at least one token, and its context includes all of its tokens") {
    const Model model = model_named("llama-2-7b", 1);
    CHECK_FALSE(serving_program(model.program, model, {1, 1001, 1000}, {}));
    CHECK_FALSE(serving_program(model.program, model, {0, 1, 1000}, {}));
}

TEST_CASE("the last chunk of a prompt attends to the whole prompt") {
    const Model model = model_named("llama-2-7b", 1);
    const auto flops_of = [&](std::int64_t queries, std::int64_t context) {
        return matmul_flops(pass_of(model, {1, queries, context}));
    };
    // two matmuls of 32 heads of width 128 in 32 layers, with 2048 more keys for each of the 1024 queries; weights
    // depend on queries only
    CHECK(flops_of(1024, 3072) - flops_of(1024, 1024) == approx(2 * 2 * 32 * 32 * 128 * 1024.0 * 2048).epsilon(1e-3));
}

namespace {

/// Bytes of caches without positions that a pass reads or writes.
double state_bytes(const Program& program, bool written) {
    auto work = derive_work(program);
    REQUIRE(work);
    double bytes = 0;
    for (const KernelWork& kernel : work->kernels) {
        for (const Transfer& transfer : kernel.transfers) {
            const Value& value = program.values[transfer.value];
            const bool state = value.name.starts_with("State") || value.name.starts_with("Tail");
            if (!value.cache || !state || transfer.write != written) continue;
            const auto each = (transfer.bytes * kernel.count).evaluate(program.sizes);
            REQUIRE(each);
            bytes += each->to_double();
        }
    }
    return bytes;
}

}  // namespace

// Qwen 3.5 122B: 36 of 48 layers have 64 heads of values with a state of 128 x 128 in f32 each, and convolutions over
// 4 positions of 16 x 128 queries, 16 x 128 keys and 64 x 128 values in bf16.
TEST_CASE("a recurrence reads and writes its state in a decode step, and only writes it behind a whole prompt") {
    constexpr double each = 36 * (64.0 * 128 * 128 * 4 + (2 * 16 * 128 + 64 * 128) * 4 * 2.0);
    const Model model = model_named("qwen3.5-122b-a10b", 1);
    const Program step = pass_of(model, decode_pass(3, 1000));
    CHECK(state_bytes(step, false) == 3 * each);
    CHECK(state_bytes(step, true) == 3 * each);
    const Program prompt = pass_of(model, {2, 1000, 1000});
    CHECK(state_bytes(prompt, false) == 0);
    CHECK(state_bytes(prompt, true) == 2 * each);
    const Program chunk = pass_of(model, {2, 200, 1000});
    CHECK(state_bytes(chunk, false) == 2 * each);
    CHECK(state_bytes(chunk, true) == 2 * each);
    // FLOPs are those without a state: a recurrence has as many whatever it begins with
    CHECK(matmul_flops(pass_of(model, {2, 200, 1000})) < matmul_flops(prompt));
}

TEST_CASE("recurrences of Mamba 1 and 2 have their states in serving, also in layers between those of attention") {
    const auto decoded = [](const char* name, double each) {
        CAPTURE(name);
        const Program one = pass_of(model_named(name, 1), decode_pass(5, 1000));
        CHECK(state_bytes(one, false) == 5 * each);
        CHECK(state_bytes(one, true) == 5 * each);
    };
    // Falcon Mamba 7B: 64 layers, 8192 channels with a state of 16 in f32 and 4 taps in bf16
    decoded("falcon-mamba-7b", 64 * 8192.0 * (16 * 4 + 4 * 2));
    // Jamba 1.5 Mini: 28 of 32 layers, as many channels
    decoded("jamba-1.5-mini", 28 * 8192.0 * (16 * 4 + 4 * 2));
    // Nemotron 3 Nano: 23 of 52 layers, 64 heads with 64 x 128 each, convolutions of these and of 8 groups of B and C
    decoded("nemotron-3-nano-30b-a3b", 23 * (64.0 * 64 * 128 * 4 + (64 * 64 + 2 * 8 * 128) * 4 * 2.0));
    // Qwen3 Next: 36 of 48 layers, 32 heads of values with 128 x 128 each, 16 heads of queries and of keys
    decoded("qwen3-next-80b-a3b", 36 * (32.0 * 128 * 128 * 4 + (2 * 16 * 128 + 32 * 128) * 4 * 2.0));
}
