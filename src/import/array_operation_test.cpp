#include "import/array_operation.hpp"

#include <doctest/doctest.h>

#include <string>

namespace roofline::core {

namespace {

using ArraySizes = std::vector<std::pair<std::string, std::int64_t>>;

struct ReadCall {
    MeasuredKernel row;
    std::string skip;
};

ReadCall call_of(const char* operation, const char* shape) {
    ReadCall call;
    read_array_operation(call.row, operation, shape, "f32", call.skip);
    return call;
}

}  // namespace

TEST_CASE("an operation on arrays becomes a program with the sizes around its axis") {
    const ReadCall sum = call_of("sum", "64x128x32x16 ; axi=1");
    CHECK(sum.row.sizes == ArraySizes{{"R", 64}, {"C", 128}, {"E", 512}});
    CHECK(sum.row.program == "X : f32[R, C, E]\nZ : f32[R, E] = sum[C](X)\n");
    CHECK(call_of("argmax", "64x128x32 ; axi=-1").row.sizes == ArraySizes{{"R", 8192}, {"C", 32}, {"E", 1}});
    CHECK(call_of("softmax", "64x128 ; axi=-1").row.sizes == ArraySizes{{"R", 64}, {"C", 128}});
    CHECK(call_of("relu", "1000").row.sizes == ArraySizes{{"R", 1}, {"C", 1000}});
    // all elements are copied once: 1000 * 64 + 1000 * 32
    CHECK(call_of("concat", "1000x64 ; 1000x32 ; axi=1").row.sizes == ArraySizes{{"R", 1}, {"C", 96'000}});
    CHECK(call_of("gather", "1024x32 ; 10").row.sizes == ArraySizes{{"R", 10}, {"C", 32}, {"V", 1024}});
    CHECK(call_of("linear", "100x1024x32 ; 32x512 ; 512").row.sizes ==
          ArraySizes{{"M", 102'400}, {"K", 32}, {"N", 512}});
    CHECK(call_of("scaleddotproductattention", "64x8x16x128 ; 64x8x64x128 ; 64x8x64x128").row.sizes ==
          ArraySizes{{"B", 512}, {"T", 16}, {"S", 64}, {"H", 128}});
}

TEST_CASE("operations on arrays that are no program, and shapes that do not fit, are refused with the reason") {
    CHECK(call_of("sort", "64x128 ; axi=0").skip == "a sort, whose passes depend on the library");
    CHECK(call_of("conv2d", "1x2x2x3 ; 8x3x3x3").skip.starts_with("a convolution"));
    CHECK(call_of("fft", "64 ; axi=0").skip == "the operation `fft` is unknown");
    for (const auto& [operation, shape] : {std::pair{"sum", "64x128"},
                                           {"sum", "64x128 ; axi=2"},
                                           {"sum", "64x128 ; axi=x"},
                                           {"relu", "64x"},
                                           {"relu", "0x4"},
                                           {"relu", ""},
                                           {"gather", "1024x32"},
                                           {"linear", "8x4 ; 5x3"},
                                           {"softmax", "64x128 ; axi=0"},
                                           {"relu", "4294967296x4294967296x4294967296"},
                                           {"scaleddotproductattention", "2x2x2x2 ; 2x2x4x2 ; 2x2x3x2"}}) {
        const ReadCall call = call_of(operation, shape);
        CAPTURE(shape);
        CHECK(call.skip.starts_with("the shape is invalid"));
        CHECK(call.row.program.empty());
    }
}

TEST_CASE("shapes of calls are distinguished from those of single arrays") {
    CHECK(is_array_operation("softmax", "64x128 ; axi=-1"));
    CHECK(is_array_operation("sort", "64x128"));
    CHECK_FALSE(is_array_operation("softmax", "64x128"));
}

}  // namespace roofline::core
