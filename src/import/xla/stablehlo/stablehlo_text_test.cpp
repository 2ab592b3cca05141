#include "import/xla/stablehlo/stablehlo_text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "import/xla/read_module_test.hpp"

using namespace roofline::core;

TEST_CASE("StableHLO: matrix products") {
    const std::string arguments = "%a: tensor<3x4x5xbf16>, %b: tensor<3x5x6xbf16>";
    CHECK(root_of_one(arguments,
                      "stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], "
                      "precision = [HIGHEST, DEFAULT] : (tensor<3x4x5xbf16>, tensor<3x5x6xbf16>) -> tensor<3x4x6xf32>",
                      "tensor<3x4x6xf32>") ==
          "f32[3,4,6] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
          "rhs_contracting_dims={1}, operand_precision={highest,default}");
    CHECK(root_of_one(
              arguments,
              "\"stablehlo.dot_general\"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = "
              "[0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = "
              "[1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : "
              "(tensor<3x4x5xbf16>, tensor<3x5x6xbf16>) -> tensor<3x4x6xf32>",
              "tensor<3x4x6xf32>") ==
          "f32[3,4,6] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
          "rhs_contracting_dims={1}");
    CHECK(root_of_one("%a: tensor<4x5xf32>, %b: tensor<5xf32>",
                      "\"stablehlo.dot\" (%a, %b) : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4xf32>",
                      "tensor<4xf32>") == "f32[4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
    CHECK(root_of_one(
              "%a: tensor<4x5xf32>, %b: tensor<5x2xf32>",
              "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, "
              "rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 3, rhs_component_count = 3, "
              "num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<4x5xf32>, "
              "tensor<5x2xf32>) -> tensor<4x2xf32>",
              "tensor<4x2xf32>") ==
          "f32[4,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_bf16_bf16_f32_x6");
}

// The layouts are what XLA writes for the same operations: f32[5,3,4]{0,2,1} and f32[4,5,3]{1,0,2}.
TEST_CASE("StableHLO: a transpose leaves its operand's elements in place") {
    const XlaModule module = read_module(
        "func.func @main(%a: tensor<3x4x5xf32>) -> tensor<4x5x3xf32> {\n"
        "  %0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<3x4x5xf32>) -> tensor<5x3x4xf32>\n"
        "  %1 = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<3x4x5xf32>) -> tensor<4x5x3xf32>\n"
        "  return %1 : tensor<4x5x3xf32>\n}\n");
    CHECK(module.main().instructions[1].shape.minor_to_major == std::vector<int>{0, 2, 1});
    CHECK(module.main().instructions[2].shape.minor_to_major == std::vector<int>{1, 0, 2});
}

// The expected texts are what XLA prints for the same operations.
TEST_CASE("StableHLO: convolutions") {
    const std::string expected =
        "f32[2,8,32,13] convolution(x, w), feature_group_count=4, window={size=3x3 pad=1_2x0_1 lhs_dilate=2x1 "
        "rhs_dilate=1x2}, dim_labels=bf01_oi01->bf01";
    CHECK(root_of_one(
              "%x: tensor<2x8x16x16xf32>, %w: tensor<8x2x3x3xf32>",
              "stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride "
              "= [1, 1], pad = [[1, 2], [0, 1]], lhs_dilate = [2, 1], rhs_dilate = [1, 2], reverse = [false, false]} "
              "{batch_group_count = 1 : i64, feature_group_count = 4 : i64, precision_config = [#stablehlo<precision "
              "DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x16x16xf32>, tensor<8x2x3x3xf32>) -> "
              "tensor<2x8x32x13xf32>",
              "tensor<2x8x32x13xf32>") == expected);
    CHECK(root_of_one(
              "%x: tensor<2x8x16x16xf32>, %w: tensor<8x2x3x3xf32>",
              "\"stablehlo.convolution\"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = "
              "#stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 4 : i64, lhs_dilation "
              "= array<i64: 2, 1>, padding = dense<[[1, 2], [0, 1]]> : tensor<2x2xi64>, rhs_dilation = array<i64: 1, "
              "2>, window_strides = array<i64: 1, 1>}> : (tensor<2x8x16x16xf32>, tensor<8x2x3x3xf32>) -> "
              "tensor<2x8x32x13xf32>",
              "tensor<2x8x32x13xf32>") == expected);
    CHECK(root_of_one(
              "%x: tensor<1x8x9x3xf32>, %w: tensor<5x7x3x2xf32>",
              "stablehlo.convolution(%x, %w)\n    dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],\n    window "
              "= {\n      stride = [2, 1], reverse = [true, false]\n    } {\n      batch_group_count = 1 : i64,\n      "
              "feature_group_count = 1 : i64\n    }\n  : (tensor<1x8x9x3xf32>, tensor<5x7x3x2xf32>) -> "
              "tensor<1x2x3x2xf32>",
              "tensor<1x2x3x2xf32>") ==
          "f32[1,2,3,2] convolution(x, w), window={size=5x7 stride=2x1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f");
}

TEST_CASE("StableHLO: operations that move elements") {
    const std::string a = "%a: tensor<4x8xf32>";
    CHECK(root_of_one(a, "stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<4x8xf32>) -> tensor<8x2x4xf32>",
                      "tensor<8x2x4xf32>") == "f32[8,2,4] broadcast(a), dimensions={2,0}");
    CHECK(root_of_one(a, "stablehlo.broadcast %a, sizes = [2, 3] : (tensor<4x8xf32>) -> tensor<2x3x4x8xf32>",
                      "tensor<2x3x4x8xf32>") == "f32[2,3,4,8] broadcast(a), dimensions={2,3}");
    CHECK(root_of_one(a, "stablehlo.transpose %a, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>",
                      "tensor<8x4xf32>") == "f32[8,4] transpose(a), dimensions={1,0}");
    CHECK(root_of_one(a, "stablehlo.slice %a [1:4:2, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>", "tensor<2x8xf32>") ==
          "f32[2,8] slice(a), slice={[1:4:2], [0:8]}");
    CHECK(root_of_one(
              a,
              "\"stablehlo.slice\"(%a) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 1, 0>, strides "
              "= array<i64: 2, 1>}> : (tensor<4x8xf32>) -> tensor<2x8xf32>",
              "tensor<2x8xf32>") == "f32[2,8] slice(a), slice={[1:4:2], [0:8]}");
    CHECK(root_of_one(a,
                      "stablehlo.concatenate %a, %a, dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>",
                      "tensor<4x16xf32>") == "f32[4,16] concatenate(a, a), dimensions={1}");
    CHECK(root_of_one(a, "stablehlo.reverse %a, dims = [0] : tensor<4x8xf32>", "tensor<4x8xf32>") ==
          "f32[4,8] reverse(a), dimensions={0}");
    CHECK(root_of_one("%a: tensor<4x8xf32>, %z: tensor<f32>",
                      "stablehlo.pad %a, %z, low = [1, 0], high = [-1, 0], interior = [2, 0] : (tensor<4x8xf32>, "
                      "tensor<f32>) -> tensor<10x8xf32>",
                      "tensor<10x8xf32>") == "f32[10,8] pad(a, z), padding=1_-1_2x0_0_0");
    CHECK(root_of_one(
              "%a: tensor<4x8xf32>, %i: tensor<i32>",
              "stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> "
              "tensor<2x8xf32>",
              "tensor<2x8xf32>") == "f32[2,8] dynamic-slice(a, i, i), dynamic_slice_sizes={2,8}");
    CHECK(root_of_one("", "stablehlo.iota dim = 1 : tensor<2x3xi32>", "tensor<2x3xi32>") ==
          "s32[2,3] iota(), iota_dimension=1");
    CHECK(root_of_one(
              "%a: tensor<100x64xf32>, %i: tensor<4x7x1xi32>",
              "\"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], "
              "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, "
              "slice_sizes = array<i64: 1, 64>}> : (tensor<100x64xf32>, tensor<4x7x1xi32>) -> tensor<4x7x64xf32>",
              "tensor<4x7x64xf32>") ==
          "f32[4,7,64] gather(a, i), slice_sizes={1,64}, offset_dims={2}, collapsed_slice_dims={0}, "
          "start_index_map={0}, index_vector_dim=2");
}

TEST_CASE(
    "StableHLO: a dimension of size 1 that grows is dropped before, because HLO's broadcast cannot make it larger") {
    const XlaModule module = read_module(
        "func.func @main(%a: tensor<4x1xf32>) -> tensor<4x8xf32> {\n"
        "  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>\n"
        "  return %0 : tensor<4x8xf32>\n}\n");
    const XlaComputation& main = module.main();
    REQUIRE(main.instructions.size() == 3);
    CHECK(written(module, main, main.instructions[1]) == "f32[4] reshape(a)");
    CHECK(root_of(module) == "f32[4,8] broadcast(0#operand), dimensions={0}");
}

TEST_CASE("StableHLO: elementwise operations have the opcodes of HLO") {
    const std::string a = "%a: tensor<4xf32>";
    const std::string type = "tensor<4xf32>";
    CHECK(root_of_one(a, "stablehlo.add %a, %a : tensor<4xf32>", type) == "f32[4] add(a, a)");
    CHECK(root_of_one(a, "mhlo.exponential_minus_one %a : tensor<4xf32>", type) == "f32[4] exponential-minus-one(a)");
    CHECK(root_of_one(a, "chlo.erf %a : tensor<4xf32> -> tensor<4xf32>", type) == "f32[4] erf(a)");
    CHECK(root_of_one(a, "stablehlo.clamp %a, %a, %a : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
                      type) == "f32[4] clamp(a, a, a)");
    CHECK(root_of_one(a, "stablehlo.reduce_precision %a, format = e5m10 : tensor<4xf32>", type) ==
          "f32[4] reduce-precision(a), exponent_bits=5, mantissa_bits=10");
    CHECK(root_of_one(a, "stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf8E4M3FN>", "tensor<4xf8E4M3FN>") ==
          "f8e4m3fn[4] convert(a)");
    CHECK(root_of_one(a, "stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xui32>", "tensor<4xui32>") ==
          "u32[4] bitcast-convert(a)");
    CHECK(root_of_one(a, "stablehlo.compare  LT, %a, %a,  TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
                      "tensor<4xi1>") == "pred[4] compare(a, a), direction=LT, type=TOTALORDER");
    CHECK(root_of_one(
              a,
              "\"stablehlo.compare\"(%a, %a) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction "
              "= #stablehlo<comparison_direction GE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
              "tensor<4xi1>") == "pred[4] compare(a, a), direction=GE");
    CHECK(root_of_one("%p: tensor<4xi1>, %a: tensor<4xf32>",
                      "stablehlo.select %p, %a, %a : tensor<4xi1>, tensor<4xf32>", type) == "f32[4] select(p, a, a)");
    CHECK(root_of_one(a, "stablehlo.complex %a, %a : tensor<4xcomplex<f32>>", "tensor<4xcomplex<f32>>") ==
          "c64[4] complex(a, a)");
    CHECK(root_of_one(a, "stablehlo.fft %a, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>",
                      "tensor<3xcomplex<f32>>") == "c64[3] fft(a), fft_type=RFFT, fft_length={4}");
}

TEST_CASE("StableHLO: constants keep the text of their elements") {
    CHECK(root_of_one("", "stablehlo.constant dense<7> : tensor<i32>", "tensor<i32>") == "s32[] constant(7)");
    CHECK(root_of_one("", "stablehlo.constant dense<true> : tensor<2x2xi1>", "tensor<2x2xi1>") ==
          "pred[2,2] constant(true)");
    CHECK(root_of_one("", "\"stablehlo.constant\"() <{value = dense<-3> : tensor<i64>}> : () -> tensor<i64>",
                      "tensor<i64>") == "s64[] constant(-3)");
    CHECK(root_of_one("", "stablehlo.constant dense<[[1.5, 2.0], [0x7FC00000, 1.0]]> : tensor<2x2xf32>",
                      "tensor<2x2xf32>")
              .starts_with("f32[2,2] constant([[1.5"));
    CHECK(root_of_one("", "stablehlo.constant dense<\"0x00>}]\\22FF\"> : tensor<2xf32>", "tensor<2xf32>") ==
          "f32[2] constant(\"0x00>}]\\22FF\")");
}

TEST_CASE("StableHLO: several results are a tuple, and those that are used its elements") {
    const XlaModule module = read_module(
        "func.func @main(%k: tensor<2xui64>) -> tensor<8xui32> {\n"
        "  %state, %bits = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> "
        "(tensor<2xui64>, tensor<8xui32>)\n"
        "  %0:2 = stablehlo.optimization_barrier %state, %bits : tensor<2xui64>, tensor<8xui32>\n"
        "  return %0#1 : tensor<8xui32>\n}\n");
    const XlaComputation& main = module.main();
    CHECK(written(module, main, instruction_of(main, "rng-bit-generator")) ==
          "(u64[2], u32[8]) rng-bit-generator(k), algorithm=rng_three_fry");
    CHECK(written(module, main, instruction_of(main, "opt-barrier")) == "(u64[2], u32[8]) opt-barrier(0#operands)");
    CHECK(written(module, main, instruction_of(main, "tuple")) == "(u64[2], u32[8]) tuple(state, bits)");
    CHECK(root_of(module) == "u32[8] get-tuple-element(0), index=1");
    CHECK(main.result().name == "0#1");
}

TEST_CASE("StableHLO: reductions") {
    const std::string arguments = "%a: tensor<4x8xf32>, %z: tensor<f32>";
    CHECK(root_of_one(
              arguments,
              "stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, "
              "tensor<f32>) -> tensor<4xf32>",
              "tensor<4xf32>") == "f32[4] reduce(a, z), dimensions={1}, maximum.f32");
    const XlaModule module = read_module(
        "func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x8xi32>, %z: tensor<f32>, %n: tensor<i32>) -> "
        "(tensor<8xf32>, tensor<8xi32>) {\n"
        "  %0:2 = stablehlo.reduce(%a init: %z), (%b init: %n) across dimensions = [0] : (tensor<4x8xf32>, "
        "tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)\n"
        "   reducer(%x: tensor<f32>, %y: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {\n"
        "    %1 = stablehlo.add %x, %y : tensor<f32>\n"
        "    %2 = stablehlo.minimum %i, %j : tensor<i32>\n"
        "    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>\n  }\n"
        "  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>\n}\n");
    const XlaInstruction& reduce = instruction_of(module.main(), "reduce");
    CHECK(written(module, module.main(), reduce) == "(f32[8], s32[8]) reduce(a, b, z, n), dimensions={0}, region_0");
    const XlaComputation& reducer = module.computations[reduce.called.at(0)];
    CHECK(written(module, reducer, instruction_of(reducer, "add")) == "f32[] add(x, y)");
    CHECK(reducer.instructions[1].name == "i");
    CHECK(reducer.instructions[1].literal == "1");  // as in HLO, the accumulators come first
    CHECK(reducer.instructions[2].literal == "2");
    CHECK(written(module, reducer, reducer.result()) == "(f32[], s32[]) tuple(1, 2)");
}

TEST_CASE("StableHLO: windows") {
    CHECK(root_of_one(
              "%a: tensor<1x16x16x3xf32>, %z: tensor<f32>",
              "\"stablehlo.reduce_window\"(%a, %z) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], "
              "[15, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, "
              "window_dimensions = array<i64: 1, 16, 2, 1>, window_strides = array<i64: 1, 1, 2, 1>}> ({\n"
              "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  %5 = stablehlo.maximum %x, %y : tensor<f32>\n"
              "  stablehlo.return %5 : tensor<f32>\n}) : (tensor<1x16x16x3xf32>, tensor<f32>) -> "
              "tensor<1x16x8x3xf32>",
              "tensor<1x16x8x3xf32>") ==
          "f32[1,16,8,3] reduce-window(a, z), window={size=1x16x2x1 stride=1x1x2x1 pad=0_0x15_0x0_0x0_0}, region_0");
}

TEST_CASE("StableHLO: scatter and sort") {
    CHECK(root_of_one(
              "%a: tensor<100x64xf32>, %i: tensor<7x1xi32>, %u: tensor<7x64xf32>",
              "\"stablehlo.scatter\"(%a, %i, %u) <{indices_are_sorted = true, scatter_dimension_numbers = "
              "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = "
              "[0], index_vector_dim = 1>, unique_indices = false}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
              "  %5 = stablehlo.add %x, %y : tensor<f32>\n  stablehlo.return %5 : tensor<f32>\n}) : "
              "(tensor<100x64xf32>, tensor<7x1xi32>, tensor<7x64xf32>) -> tensor<100x64xf32>",
              "tensor<100x64xf32>") ==
          "f32[100,64] scatter(a, i, u), indices_are_sorted=true, update_window_dims={1}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=1, region_0");
    CHECK(root_of_one("%a: tensor<16x8xf32>",
                      "\"stablehlo.sort\"(%a) <{dimension = 1 : i64, is_stable = true}> ({\n^bb0(%x: tensor<f32>, %y: "
                      "tensor<f32>):\n  %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                      "  stablehlo.return %1 : tensor<i1>\n}) : (tensor<16x8xf32>) -> tensor<16x8xf32>",
                      "tensor<16x8xf32>") == "f32[16,8] sort(a), dimensions={1}, is_stable=true, region_0");
    CHECK(root_of_one("%a: tensor<16x128xf32>",
                      "\"chlo.top_k\"(%a) <{k = 4 : i64}> : (tensor<16x128xf32>) -> tensor<16x4xf32>",
                      "tensor<16x4xf32>") == "f32[16,4] topk(a), k=4, largest=true");
}

TEST_CASE("StableHLO: a while takes what it uses from outside along") {
    const XlaModule module = read_module(
        "func.func @main(%a: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {\n"
        "  %seven = stablehlo.constant dense<7> : tensor<i32>\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %0:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<4xf32>\n"
        "  cond {\n"
        "    %1 = stablehlo.compare LT, %i, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %1 : tensor<i1>\n"
        "  } do {\n"
        "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "    %1 = stablehlo.add %i, %one : tensor<i32>\n"
        "    %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
        "    %3 = stablehlo.add %v, %2 : tensor<4xf32>\n"
        "    stablehlo.return %1, %3 : tensor<i32>, tensor<4xf32>\n"
        "  }\n"
        "  return %0#1 : tensor<4xf32>\n}\n");
    const XlaComputation& main = module.main();
    const XlaInstruction& loop = instruction_of(main, "while");
    CHECK(written(module, main, main.instructions[loop.operands.at(0)]) == "(s32[], f32[4], f32[]) tuple(zero, a, s)");
    CHECK(shape_text(loop.shape) == "(s32[], f32[4], f32[])");
    REQUIRE(loop.called.size() == 2);
    const XlaComputation& condition = module.computations[loop.called[0]];
    CHECK(shape_text(condition.instructions[0].shape) == "(s32[], f32[4], f32[])");
    CHECK(written(module, condition, condition.result()) == "pred[] compare(i, seven), direction=LT");
    CHECK(instruction_of(condition, "constant").literal == "7");  // repeated, so that the trip count can be recovered
    const XlaComputation& body = module.computations[loop.called[1]];
    CHECK(written(module, body, body.result()) == "(s32[], f32[4], f32[]) tuple(1, 3, s)");
    CHECK(written(module, body, instruction_of(body, "broadcast")) == "f32[4] broadcast(s), dimensions={}");
}

TEST_CASE("StableHLO: while, case and if in the generic syntax") {
    const XlaModule module = read_module(
        "\"builtin.module\"() <{sym_name = \"generic\"}> ({\n"
        "  \"func.func\"() <{arg_attrs = [{mhlo.sharding = \"{replicated}\"}, {}], function_type = (tensor<i32>, "
        "tensor<4xf32>) -> tensor<4xf32>, sym_name = \"main\", sym_visibility = \"public\"}> ({\n"
        "  ^bb0(%arg0: tensor<i32>, %arg1: tensor<4xf32>):\n"
        "    %0 = \"stablehlo.case\"(%arg0) ({\n"
        "      \"stablehlo.return\"(%arg1) : (tensor<4xf32>) -> ()\n"
        "    }, {\n"
        "      %5 = \"stablehlo.negate\"(%arg1) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "      \"stablehlo.return\"(%5) : (tensor<4xf32>) -> ()\n"
        "    }) : (tensor<i32>) -> tensor<4xf32>\n"
        "    %1 = \"stablehlo.while\"(%0) ({\n"
        "    ^bb0(%x: tensor<4xf32>):\n"
        "      %5 = \"stablehlo.constant\"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>\n"
        "      \"stablehlo.return\"(%5) : (tensor<i1>) -> ()\n"
        "    }, {\n"
        "    ^bb0(%x: tensor<4xf32>):\n"
        "      \"stablehlo.return\"(%x) : (tensor<4xf32>) -> ()\n"
        "    }) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "    \"func.return\"(%1) : (tensor<4xf32>) -> ()\n"
        "  }) : () -> ()\n"
        "}) {mhlo.num_partitions = 8 : i32} : () -> ()\n");
    CHECK(module.name == "generic");
    CHECK(module.attribute("num_partitions") == "8");
    const XlaComputation& main = module.main();
    CHECK(main.instructions[0].attribute("sharding") == "{replicated}");
    const XlaInstruction& conditional = instruction_of(main, "conditional");
    CHECK(written(module, main, conditional) == "f32[4] conditional(arg0, 0#branch0, 0#branch1), region_0, region_1");
    const XlaComputation& second = module.computations[conditional.called[1]];
    CHECK(written(module, second, second.result()) == "f32[4] negate(arg1)");
    CHECK(root_of(module) == "f32[4] get-tuple-element(1#), index=0");
}

TEST_CASE("StableHLO: other regions get what they use from outside as parameters after their own") {
    const XlaModule module = read_module(
        "func.func @main(%a: tensor<4xf32>, %s: tensor<f32>) -> tensor<f32> {\n"
        "  %0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> ({\n"
        "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "    %1 = stablehlo.add %x, %y : tensor<f32>\n"
        "    %2 = stablehlo.multiply %1, %s : tensor<f32>\n"
        "    stablehlo.return %2 : tensor<f32>\n"
        "  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
        "  return %0 : tensor<f32>\n}\n");
    CHECK(root_of(module) == "f32[] reduce(a, s, s), dimensions={0}, captured=1, region_0");
    const XlaComputation& region = module.computations[module.main().result().called[0]];
    CHECK(written(module, region, region.result()) == "f32[] multiply(1, s)");
    CHECK(region.instructions[region.result().operands[1]].literal == "2");
}

TEST_CASE("StableHLO: collectives") {
    const std::string a = "%a: tensor<4x8xf32>";
    const std::string groups = "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>";
    CHECK(
        root_of_one(
            a,
            "\"stablehlo.all_reduce\"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, " +
                groups +
                ", use_global_device_ids}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  %1 = stablehlo.add %x, %y : "
                "tensor<f32>\n  stablehlo.return %1 : tensor<f32>\n}) : (tensor<4x8xf32>) -> tensor<4x8xf32>",
            "tensor<4x8xf32>") ==
        "f32[4,8] all-reduce(a), replica_groups={{0,1},{2,3}}, use_global_device_ids=true, channel_id=3, region_0");
    CHECK(root_of_one(a,
                      "\"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, " + groups +
                          "}> : (tensor<4x8xf32>) -> tensor<4x16xf32>",
                      "tensor<4x16xf32>") == "f32[4,16] all-gather(a), dimensions={1}, replica_groups={{0,1},{2,3}}");
    CHECK(root_of_one(a,
                      "\"stablehlo.all_to_all\"(%a) <{concat_dimension = 0 : i64, " + groups +
                          ", split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<8x4xf32>",
                      "tensor<8x4xf32>") ==
          "f32[8,4] all-to-all(a), concat_dimension=0, replica_groups={{0,1},{2,3}}, split_count=2, dimensions={1}");
    CHECK(
        root_of_one(
            a,
            "\"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> "
            ": (tensor<4x8xf32>) -> tensor<4x8xf32>",
            "tensor<4x8xf32>") == "f32[4,8] collective-permute(a), source_target_pairs={{0,1},{1,0}}");
    // MLIR writes more than a hundred numbers as bytes; and equal numbers once.
    CHECK(root_of_one(
              a,
              "\"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, replica_groups = "
              "dense<\"0x00000000000000000100000000000000020000000000000003010000000000000\"> : tensor<2x2xi64>}> : "
              "(tensor<4x8xf32>) -> tensor<4x16xf32>",
              "tensor<4x16xf32>")
              .find("{{") == std::string::npos);
    CHECK(root_of_one(
              a,
              "\"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, replica_groups = "
              "dense<\"0x0000000000000000010000000000000002000000000000000301000000000000\"> : tensor<2x2xi64>}> : "
              "(tensor<4x8xf32>) -> tensor<4x16xf32>",
              "tensor<4x16xf32>") == "f32[4,16] all-gather(a), dimensions={1}, replica_groups={{0,1},{2,259}}");
    CHECK(
        root_of_one(
            a,
            "\"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : "
            "(tensor<4x8xf32>) -> tensor<4x8xf32>",
            "tensor<4x8xf32>") == "f32[4,8] all-gather(a), dimensions={1}, replica_groups={{0}}");
}
