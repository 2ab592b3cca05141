// A training step of Llama 3 8B as XLA compiled it, beside the FLOPs of its configuration, where ../shared is there.
#include <doctest/doctest.h>

#include <string>

#include "import/xla/lower/lower_module.hpp"
#include "import/xla/read_xla_module.hpp"
#include "text/shared_text_test.hpp"
#include "work/work.hpp"

using namespace roofline::core;

TEST_CASE("a compiled step of Llama 3 8B has the FLOPs of the model, with its embedding as a matmul") {
    const std::string name = "samples/hlo/hlo_llama3_8b_bf16_activation_offloading_1x8.hlo";
    const auto text = shared_text(name);
    if (!text) return;
    const auto module = read_xla_module(*text, name);
    REQUIRE(module);
    XlaCostOptions options;
    options.multiply_loops = options.price_custom_calls = true;
    options.unknown = 0;
    const auto cost = xla_cost(*module, options);
    REQUIRE(cost);
    const auto imported = lower_module(*module, *cost, name);
    REQUIRE(imported);
    const auto work = derive_work(imported->program);
    REQUIRE(work);
    const auto value = [&](const Polynomial& polynomial) {
        const auto number = polynomial.evaluate(imported->program.sizes);
        return number ? number->to_double() : -1;
    };
    double matmuls = 0;
    for (const KernelWork& kernel : work->kernels) {
        for (const MatmulShape& product : kernel.matmuls) matmuls += value(product.flops) * value(kernel.count);
    }
    // 32 layers of D = 4096, 8 heads for keys and values of 128, F = 14336, and the head over 128256 words; a sequence
    // of 8192 tokens on each device. MaxText looks up embeddings by a product with a one-hot matrix, and computes the
    // gradient of the table the same way. Attention: two products forward and five backward, halved by the mask.
    const double layer = 2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336;
    const double head = 4096.0 * 128256;
    const double tokens = 8192;
    const double attention = 32 * 7 * 2 * tokens * tokens * 4096 / 2;
    CHECK(matmuls == 6 * (32 * layer + head) * tokens + 4 * head * tokens + attention);

    CHECK(imported->devices == 8);
    CHECK(imported->gaps.empty());
    REQUIRE(imported->loops.size() == 2);
    CHECK(imported->loops[0].trips == 32);
    CHECK(imported->loops[1].trips == 32);
}
