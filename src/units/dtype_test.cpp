#include "units/dtype.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace roofline::core {

TEST_CASE("the table is indexed by the enumeration, and every name is found") {
    for (std::size_t i = 0; i < all_dtypes().size(); ++i) {
        const DtypeInfo& entry = all_dtypes()[i];
        CHECK(static_cast<std::size_t>(entry.dtype) == i);
        CHECK(find_dtype(entry.name) == entry.dtype);
    }
    CHECK(all_dtypes().size() == static_cast<std::size_t>(Dtype::boolean) + 1 + 21);  // and GGUF's block types
    CHECK(name(Dtype::boolean) == "bool");
    CHECK(dtype_names().size() == all_dtypes().size());
}

TEST_CASE("aliases in any case") {
    CHECK(find_dtype("bfloat16") == Dtype::bf16);
    CHECK(find_dtype("BF16") == Dtype::bf16);
    CHECK(find_dtype("double") == Dtype::f64);
    CHECK(find_dtype("Float") == Dtype::f32);
    CHECK(find_dtype("half") == Dtype::f16);
    CHECK(find_dtype("F8E4M3FN") == Dtype::fp8_e4m3);
    CHECK(find_dtype("float8_e4m3fn") == Dtype::fp8_e4m3);
    CHECK(find_dtype("e5m2") == Dtype::fp8_e5m2);
    CHECK(find_dtype("f8") == Dtype::fp8);
    CHECK(find_dtype("mx_fp4") == Dtype::mxfp4);
    CHECK(find_dtype("e2m1") == Dtype::fp4);
    CHECK(find_dtype("u8") == Dtype::int8);
    CHECK(find_dtype("s4") == Dtype::int4);
    CHECK(find_dtype("uint32") == Dtype::int32);
    CHECK(find_dtype("pred") == Dtype::boolean);
    CHECK_FALSE(find_dtype("bf17"));
    CHECK_FALSE(find_dtype(""));
    CHECK_FALSE(find_dtype("bf1"));
}

TEST_CASE("block formats count their scales") {
    const auto bits = [](Dtype dtype) {
        const BitsPerElement stored = stored_bits(dtype);
        return static_cast<double>(stored.numerator) / stored.denominator;
    };
    CHECK(bits(Dtype::nvfp4) == 4.5);   // 4 + 8/16
    CHECK(bits(Dtype::mxfp4) == 4.25);  // 4 + 8/32
    CHECK(bits(Dtype::mxfp8) == 8.25);  // 8 + 8/32
    CHECK(bits(Dtype::fp6) == 6);
    CHECK(bits(Dtype::int4) == 4);
    CHECK(bits(Dtype::boolean) == 8);
    CHECK(bits(Dtype::tf32) == 32);
    CHECK(bits(Dtype::f64) == 64);
    CHECK(stored_bits(Dtype::nvfp4).denominator == 2);  // in lowest terms
}

TEST_CASE("block types of GGUF files: bytes of a block by ggml's structures") {
    const auto bits = [](std::string_view name) {
        const auto dtype = find_dtype(name);
        REQUIRE_MESSAGE(dtype, name);
        const BitsPerElement stored = stored_bits(*dtype);
        return static_cast<double>(stored.numerator) / stored.denominator;
    };
    CHECK(bits("q4_0") == 8.0 * 18 / 32);
    CHECK(bits("q8_0") == 8.0 * 34 / 32);
    CHECK(bits("Q4_K") == 8.0 * 144 / 256);
    CHECK(bits("q6_k") == 8.0 * 210 / 256);
    CHECK(bits("iq2_xxs") == 8.0 * 66 / 256);
    CHECK(bits("iq4_xs") == 8.0 * 136 / 256);
    // they multiply as integers, so that activations in bf16 decide
    CHECK(arithmetic(Dtype::bf16, *find_dtype("q4_k")) == Dtype::bf16);
    CHECK(name(*find_dtype("q5_k")) == "q5_k");
}

TEST_CASE("the arithmetic of two dtypes: float beats integer, then more bits") {
    CHECK(arithmetic(Dtype::bf16, Dtype::int8) == Dtype::bf16);
    CHECK(arithmetic(Dtype::int32, Dtype::fp8) == Dtype::fp8);
    CHECK(arithmetic(Dtype::int8, Dtype::int4) == Dtype::int8);
    CHECK(arithmetic(Dtype::f32, Dtype::bf16) == Dtype::f32);
    CHECK(arithmetic(Dtype::boolean, Dtype::int8) == Dtype::int8);
    CHECK(arithmetic(Dtype::int8, Dtype::int8) == Dtype::int8);
    CHECK(arithmetic(Dtype::mxfp8, Dtype::nvfp4) == Dtype::mxfp8);
}

TEST_CASE("both fp8 encodings multiply as fp8") {
    CHECK(arithmetic(Dtype::fp8_e4m3, Dtype::fp8_e5m2) == Dtype::fp8);
    CHECK(arithmetic(Dtype::fp8_e4m3, Dtype::fp8_e4m3) == Dtype::fp8);
    CHECK(arithmetic(Dtype::fp8, Dtype::fp8_e5m2) == Dtype::fp8);
}

TEST_CASE("equal width of different kinds is for the user to resolve") {
    CHECK_FALSE(arithmetic(Dtype::bf16, Dtype::f16));
    CHECK_FALSE(arithmetic(Dtype::tf32, Dtype::f32));
    CHECK_FALSE(arithmetic(Dtype::fp8_e4m3, Dtype::mxfp8));
    CHECK_FALSE(arithmetic(Dtype::nvfp4, Dtype::mxfp4));
}

TEST_CASE("arithmetic does not depend on the order of operands") {
    for (const DtypeInfo& a : all_dtypes()) {
        for (const DtypeInfo& b : all_dtypes()) {
            CHECK(arithmetic(a.dtype, b.dtype) == arithmetic(b.dtype, a.dtype));
        }
    }
}

TEST_CASE("substitutes begin with the dtype itself, are at least as wide and never repeat") {
    for (const DtypeInfo& entry : all_dtypes()) {
        CAPTURE(entry.name);
        REQUIRE_FALSE(entry.runs_as.empty());
        CHECK(entry.runs_as.front() == entry.dtype);
        CHECK(std::set<Dtype>(entry.runs_as.begin(), entry.runs_as.end()).size() == entry.runs_as.size());
        for (const Dtype stand_in : entry.runs_as) {
            CHECK(info(stand_in).bits >= entry.bits);
            CHECK((entry.kind != DtypeKind::floating || info(stand_in).kind == DtypeKind::floating));
        }
        // f64 holds every value of every dtype but int64, whose 63 bits fit into nothing else.
        CHECK(entry.runs_as.back() == (entry.dtype == Dtype::int64 ? Dtype::int64 : Dtype::f64));
    }
}

TEST_CASE("a substitute holds every value") {
    const auto stands_in = [](Dtype wide, Dtype narrow) {
        const std::vector<Dtype>& rates = info(narrow).runs_as;
        return std::find(rates.begin(), rates.end(), wide) != rates.end();
    };
    CHECK_FALSE(stands_in(Dtype::f16, Dtype::bf16));   // f16 lacks bf16's range
    CHECK_FALSE(stands_in(Dtype::bf16, Dtype::f16));   // bf16 lacks f16's mantissa
    CHECK_FALSE(stands_in(Dtype::f32, Dtype::int32));  // 24 significant bits do not hold 31
    CHECK_FALSE(stands_in(Dtype::fp8, Dtype::int8));   // 4 do not hold 7
    CHECK_FALSE(stands_in(Dtype::fp8, Dtype::nvfp4));  // element times scale needs 5
    CHECK(stands_in(Dtype::bf16, Dtype::int8));
    CHECK(stands_in(Dtype::fp8, Dtype::int4));
    CHECK(stands_in(Dtype::tf32, Dtype::bf16));
}

TEST_CASE("matrix units accumulate in a wider dtype than they multiply") {
    CHECK(info(Dtype::bf16).accumulator == Dtype::f32);
    CHECK(info(Dtype::int8).accumulator == Dtype::int32);
    CHECK(info(Dtype::f64).accumulator == Dtype::f64);
}

}  // namespace roofline::core
