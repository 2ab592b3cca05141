#include "model/machine_dtype.hpp"

#include <doctest/doctest.h>

#include "machine/catalogue.hpp"
#include "model/models_test.hpp"

using namespace roofline::core;

// NVIDIA's V100 and T4 have tensor cores for f16 alone; bf16 came with the A100. Apple's GPUs have no matrix units.
TEST_CASE("models are computed in f16 where matrix units have no other 16-bit dtype") {
    CHECK(sixteen_bits_of(*find_machine("v100-sxm2")) == Dtype::f16);
    CHECK(sixteen_bits_of(*find_machine("t4")) == Dtype::f16);
    CHECK(sixteen_bits_of(*find_machine("a100-sxm4-80")) == Dtype::bf16);
    CHECK(sixteen_bits_of(*find_machine("tpu-v5e")) == Dtype::bf16);
    CHECK(sixteen_bits_of(*find_machine("m3-max")) == Dtype::bf16);
}
