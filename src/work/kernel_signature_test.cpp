#include "work/kernel_signature.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "notation/notation.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

// As many kernels as are searched for equal ones, each between tensors of its own.
std::string repeated_matmuls(int count) {
    std::string text = "B=8, D=16, F=32\nW : bf16[D, F]\n";
    for (int i = 0; i < count; ++i) text += fmt::format("X{0} : bf16[B, D]\nY{0} = X{0} *_D W\n", i);
    return text;
}

}  // namespace

TEST_CASE("kernels that are equal but for names are built once, and keep their own tensors") {
    // A function that nothing reads, then one whose result stays inside its block, and another type.
    const auto program = parse_program(repeated_matmuls(70) + "V : f32[D, F]\nX : f32[B, D]\nZ = X *_D V\n" +
                                       "fuse {\nU = X1 *_D W\nR : bf16[B, F] = relu(U)\n}\n");
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    const auto work = derive_work(*program);
    REQUIRE(work);
    REQUIRE(work->kernels.size() == 72);
    const auto name = [&](const Transfer& transfer) { return program->values[transfer.value].name; };
    for (std::size_t k = 0; k < 70; ++k) {
        const KernelWork& kernel = work->kernels[k];
        CHECK(kernel.like == 0);
        CHECK(kernel.work.flops() == work->kernels[0].work.flops());
        REQUIRE(kernel.transfers.size() == 3);
        CHECK(name(kernel.transfers[0]) == fmt::format("X{}", k));
        CHECK(name(kernel.transfers[1]) == "W");
        CHECK(name(kernel.transfers[2]) == fmt::format("Y{}", k));
        CHECK(program->values[kernel.statements.front()->result].name == fmt::format("Y{}", k));
    }
    CHECK(work->kernels[70].like == 70);
    CHECK(work->kernels[71].like == 71);
    CHECK(work->total.flops(Unit::matmul).evaluate(program->sizes)->to_double() == 72.0 * 2 * 8 * 16 * 32);
    // The product inside is neither written nor read again.
    CHECK(work->kernels[71].transfers.size() == 3);

    const auto few = parse_program(repeated_matmuls(3));
    REQUIRE(few);
    const auto few_work = derive_work(*few);
    REQUIRE(few_work);
    CHECK(few_work->kernels[2].like == 2);
}
