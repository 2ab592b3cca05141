// Tests of what is not one operation: shardings, functions, locations, types, errors.
#include <doctest/doctest.h>

#include <string>

#include "import/xla/read_module_test.hpp"
#include "import/xla/stablehlo/stablehlo_text.hpp"

using namespace roofline::core;

TEST_CASE("StableHLO: shardings") {
    const XlaModule module = read_module(
        "module @m attributes {mhlo.num_replicas = 1 : i32} {\n"
        "  sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n"
        "  func.func public @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}, %b: "
        "tensor<16x8xf32> {mhlo.sharding = \"{devices=[4,1,2]<=[8] last_tile_dim_replicate}\"}) -> (tensor<16x8xf32> "
        "{jax.result_info = \"\", sdy.sharding = #sdy.sharding<@mesh, [{}, {\"y\"}]>}) {\n"
        "    %0 = stablehlo.add %a, %b {mhlo.frontend_attributes = {note = \"z\"}} : tensor<16x8xf32>\n"
        "    %1 = sdy.sharding_constraint %0 <@mesh, [{\"x\"}, {}]> : tensor<16x8xf32>\n"
        "    %2 = sdy.reshard %1 <@mesh, [{}, {\"y\"}]> : tensor<16x8xf32>\n"
        "    %3 = sdy.all_reduce {\"x\"} %2 out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>\n"
        "    return %3 : tensor<16x8xf32>\n  }\n}\n");
    CHECK(module.attribute("frontend_attributes") == R"({xla.sdy.meshes={mesh = #sdy.mesh<["x"=4, "y"=2]>}})");
    const XlaComputation& main = module.main();
    CHECK(main.instructions[0].attribute("frontend_attributes") ==
          R"({xla.sdy.sharding="#sdy.sharding<@mesh, [{\"x\"}, {}]>"})");
    CHECK(main.instructions[1].attribute("sharding") == "{devices=[4,1,2]<=[8] last_tile_dim_replicate}");
    CHECK(written(module, main, main.instructions[2]) == R"(f32[16,8] add(a, b), frontend_attributes={note="z"})");
    CHECK(written(module, main, main.instructions[3]) ==
          R"(f32[16,8] custom-call(0), custom_call_target="Sharding", )"
          R"(frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>]>"})");
    CHECK(written(module, main, main.instructions[4]) == R"(f32[16,8] sdy.reshard(1), sharding=<@mesh, [{}, {"y"}]>)");
    CHECK(written(module, main, main.instructions[5]) ==
          R"(f32[16,8] sdy.all_reduce(2), out_sharding=<@mesh, [{}, {}]>, axes={"x"})");
    CHECK(root_of(module) ==
          R"(f32[16,8] custom-call(3), custom_call_target="xla.sdy.FuncResultSharding", )"
          R"(frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{}, {\"y\"}]>]>"})");
}

TEST_CASE("StableHLO: a manual computation is a call with the shapes of one device") {
    const XlaModule module = read_module(
        "sdy.mesh @mesh = <[\"x\"=4]>\n"
        "func.func @main(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {\n"
        "  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{\"x\"}]>, <@mesh, [{\"x\"}]>] "
        "out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\"} (%c: tensor<4xf32>, %d: tensor<4xf32>) {\n"
        "    %1 = stablehlo.add %c, %d : tensor<4xf32>\n"
        "    sdy.return %1 : tensor<4xf32>\n"
        "  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>\n"
        "  return %0 : tensor<16xf32>\n}\n");
    const XlaComputation& main = module.main();
    CHECK(written(module, main, main.instructions[2]) ==
          R"((f32[4], f32[4]) custom-call(a, b), custom_call_target="xla.sdy.GlobalToLocalShape", )"
          R"(frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>, )"
          R"(<@mesh, [{\"x\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"x\"}>"})");
    CHECK(written(module, main, instruction_of(main, "call")) ==
          R"(f32[4] call(0#local0, 0#local1), frontend_attributes={inlineable="false"}, region_0)");
    CHECK(root_of(module) == R"(f32[16] custom-call(0#call), custom_call_target="xla.sdy.LocalToGlobalShape", )"
                             R"(frontend_attributes={xla.sdy.manual_axes="#sdy<manual_axes{\"x\"}>",)"
                             R"(xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>]>"})");
}

TEST_CASE("StableHLO: calls, composites and custom calls") {
    const XlaModule module = read_module(
        "module {\n"
        "  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "    %0 = call @inner(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "    %1 = stablehlo.composite \"my.norm\" %0 {composite_attributes = {eps = 1.0E-6 : f32}, decomposition = "
        "@inner, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>\n"
        "    %2 = stablehlo.custom_call @target(%1) {backend_config = \"{\\22k\\22: 3}\", has_side_effect = true} : "
        "(tensor<4xf32>) -> tensor<4xf32>\n"
        "    return %2 : tensor<4xf32>\n  }\n"
        "  func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "    return %a : tensor<4xf32>\n  }\n}\n");
    const XlaComputation& main = module.main();
    CHECK(main.name == "main");
    CHECK(written(module, main, main.instructions[1]) == "f32[4] call(a), inner");
    CHECK(written(module, main, main.instructions[2]) ==
          R"(f32[4] call(0), is_composite=true, frontend_attributes={composite.attributes={eps = 1.0E-6 : f32},)"
          R"(composite.name="my.norm",composite.version="2"}, inner)");
    CHECK(root_of(module) == R"(f32[4] custom-call(1), custom_call_has_side_effect=true, custom_call_target="target", )"
                             R"(backend_config="{\"k\": 3}")");
    CHECK(module.entry == 1);  // after its callee
}

TEST_CASE("StableHLO: the entry is main, or else the first public function") {
    const std::string body = "(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n";
    CHECK(read_module("func.func @first" + body + "func.func private @main" + body).main().name == "main");
    CHECK(read_module("func.func private @first" + body + "func.func @second" + body + "func.func @third" + body)
              .main()
              .name == "second");
    CHECK(read_module("func.func private @only" + body).main().name == "only");
}

TEST_CASE("StableHLO: locations give the scope and the innermost frame") {
    const XlaModule module = read_module(
        "#loc1 = loc(\"x\")\n"
        "module {\n"
        "  func.func @main(%a: tensor<4xf32> loc(\"x\")) -> tensor<4xf32> {\n"
        "    %0 = stablehlo.sine %a : tensor<4xf32> loc(#loc5)\n"
        "    %1 = stablehlo.cosine %0 : tensor<4xf32> loc(\"jit(f)/cos\"(\"old.py\":3:1))\n"
        "    %2 = stablehlo.negate %1 : tensor<4xf32> loc(fused<\"m\">[#loc, #loc4])\n"
        "    return %2 : tensor<4xf32> loc(#loc)\n  } loc(#loc)\n} loc(#loc)\n"
        "#loc = loc(unknown)\n"
        "#loc2 = loc(\"inner.py\":7:10 to :24)\n"
        "#loc3 = loc(callsite(#loc6 at \"outer.py\":90:4))\n"
        "#loc4 = loc(\"dot.47\")\n"
        "#loc5 = loc(\"jit(f)/sin\"(#loc3))\n"
        "#loc6 = loc(\"inner\"(#loc2))\n");
    const auto& instructions = module.main().instructions;
    CHECK(instructions[0].origin.op_name == "x");
    CHECK(instructions[1].origin.op_name == "jit(f)/sin");
    CHECK(instructions[1].origin.file == "inner.py");
    CHECK(instructions[1].origin.line == 7);
    CHECK(instructions[2].origin.op_name == "jit(f)/cos");
    CHECK(instructions[2].origin.file == "old.py");
    CHECK(instructions[2].origin.line == 3);
    CHECK(instructions[3].origin.op_name == "dot.47");
    CHECK(instructions[3].origin.line == 0);
}

TEST_CASE("StableHLO: an operation that nobody knows is kept under its full name") {
    const XlaModule module =
        read_module(in_function("  %0 = foo.bar %a, LT {x = 1 : i32} : tensor<4xf32>\n"
                                "  foo.done %0\n"
                                "  %1 = chlo.lgamma %0 : tensor<4xf32> -> tensor<4xf32>\n"
                                "  return %1 : tensor<4xf32>"));
    const auto& instructions = module.main().instructions;
    CHECK(instructions[1].opcode == "foo.bar");
    CHECK(instructions[1].attribute("x") == "1 : i32");
    CHECK(instructions[2].opcode == "foo.done");
    CHECK(instructions[2].operands == std::vector<std::uint32_t>{1});
    CHECK(instructions[3].opcode == "chlo.lgamma");
}

TEST_CASE("StableHLO: types") {
    CHECK(root_of_one("%a: tensor<4x?x2xf32, #stablehlo.bounds<?, 5, ?>>",
                      "stablehlo.negate %a : tensor<4x?x2xf32, #stablehlo.bounds<?, 5, ?>>",
                      "tensor<4x?x2xf32, #stablehlo.bounds<?, 5, ?>>") == "f32[4,5,2] negate(a)");
    CHECK(root_of_one("%a: tensor<4x!quant.uniform<i8:f32, 1.0:3>>",
                      "stablehlo.negate %a : tensor<4x!quant.uniform<i8:f32, 1.0:3>>",
                      "tensor<4x!quant.uniform<i8:f32, 1.0:3>>") == "s8[4] negate(a)");
    CHECK(root_of_one("%a: tensor<4xf32>", "stablehlo.create_token : !stablehlo.token", "!stablehlo.token")
              .starts_with("token[] after-all("));
    CHECK(root_of_one(
              "%a: tuple<tensor<4xf32>, tuple<tensor<i8>>>",
              "stablehlo.get_tuple_element %a[1] : (tuple<tensor<4xf32>, tuple<tensor<i8>>>) -> tuple<tensor<i8>>",
              "tuple<tensor<i8>>") == "(s8[]) get-tuple-element(a), index=1");
}

TEST_CASE("StableHLO: other forms are refused with what to ask for") {
    const auto bytecode = read_stablehlo_text("ML\xefR\x01\x02", "m.mlirbc");
    REQUIRE(!bytecode.has_value());
    CHECK(bytecode.error().code == "mlir_bytecode");
    CHECK(bytecode.error().hint.find("as_text()") != std::string::npos);
    CHECK(error_of("module {\n  vhlo.func_v1 @main() {\n  }\n}\n") ==
          "vhlo 2:3 this module is written in VHLO, the form for storage");
    CHECK(error_of("func.func @main(%a: !vhlo.tensor_v1<4x!vhlo.f32_v1>) {\n}\n")
              .starts_with("vhlo 1:21 this module is written in VHLO"));
    CHECK(error_of("HloModule m\n").starts_with("bad_stablehlo 1:1 this is HLO text"));
    CHECK(error_of("").starts_with("bad_stablehlo 1:1 the module has no function"));
}

TEST_CASE("StableHLO: errors have a place") {
    CHECK(error_of(in_function("  %0 = stablehlo.add %a, %b : tensor<4xf32>")) ==
          "undefined 2:26 the value `b` is not defined before this line");
    CHECK(error_of(in_function("  %a = stablehlo.negate %a : tensor<4xf32>")) ==
          "defined_twice 2:4 the value `a` is defined twice");
    CHECK(error_of(in_function("  %0 = stablehlo.negate %a : tensor<4xf33>")) ==
          "bad_stablehlo 2:39 there is no element type `f33`");
    CHECK(error_of(in_function("  %0 = stablehlo.negate %a : tensor<4x?xf32>")) ==
          "dynamic_shape 2:30 a dimension of this tensor has no size and no bound");
    CHECK(error_of(in_function("  %0 = stablehlo.negate %a : tensor<*xf32>")) ==
          "dynamic_shape 2:37 this tensor has no rank");
    CHECK(error_of(in_function("  %0 = stablehlo.negate %a : tensor<4000000000x4000000000xf32>")) ==
          "too_large 2:30 this shape has more bits than 63 bits can count");
    CHECK(error_of(in_function("  %0 = stablehlo.negate %a : tensor<99999999999999999999xf32>")) ==
          "too_large 2:37 this size is larger than 63 bits can count");
    CHECK(error_of(in_function("  %0:2 = stablehlo.negate %a : tensor<4xf32>")) ==
          "bad_stablehlo 2:4 2 results have 1 types");
    CHECK(error_of(
              in_function("  %0 = call @gone(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>")) ==
          "undefined 2:4 this calls the function `gone`, which the module lacks");
    CHECK(error_of(
              in_function("  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>")) ==
          "cycle 1:11 the function `main` calls itself");
    CHECK(error_of(in_function("  return %a : tensor<4xf32>\n^bb1:\n  return %a : tensor<4xf32>"))
              .starts_with("blocks 3:1 a second block begins here"));
    CHECK(error_of(in_function("  return %a : tensor<4xf32>") + in_function("  return %a : tensor<4xf32>")) ==
          "defined_twice 4:11 the function `main` is defined twice");
    CHECK(error_of(in_function("  return %a : tensor<4xf32> loc(#loc7)")) ==
          "undefined 2:33 the location `loc7` is not defined");
    CHECK(error_of(in_function("  return %a : tensor<4xf32> loc(#loc7)") + "#loc7 = loc(\"a\"(#loc7))\n") ==
          "cycle 4:17 the location `loc7` refers to itself");
    CHECK(error_of("module {\n}\nmodule {\n}\n").starts_with("several_modules 3:7 a second module begins here"));
    CHECK(error_of("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n").starts_with("bad_stablehlo 1:"));
}

TEST_CASE("StableHLO: deep nesting is refused") {
    std::string regions;
    for (int i = 0; i < 300; ++i) regions += "\"foo.bar\"() ({\n";
    CHECK(error_of(in_function(regions)).starts_with("too_deep 257:"));
    CHECK(error_of(in_function("  foo.bar " + std::string(300, '['))).starts_with("too_deep 2:"));
    std::string tuple = "tensor<f32>";
    for (int i = 0; i < 80; ++i) tuple = "tuple<" + tuple + ">";
    CHECK(error_of(in_function("  %0 = foo.bar %a : " + tuple)).starts_with("too_deep 2:"));
    std::string location = "unknown";
    for (int i = 0; i < 300; ++i) location = "callsite(" + location + " at unknown)";
    CHECK(error_of(in_function("  return %a : tensor<4xf32> loc(" + location + ")")).starts_with("too_deep 2:"));
}

// A value costs an instruction in every region around its use; thousands of uses 250 levels deep would fill any memory.
TEST_CASE("StableHLO: too many values from outside are refused") {
    std::string lines;
    for (int i = 0; i < 5000; ++i) lines += "%" + std::to_string(i) + " = stablehlo.negate %a : tensor<4xf32>\n";
    for (int i = 0; i < 250; ++i) lines += "\"foo.bar\"() ({\n";
    for (int i = 0; i < 5000; ++i) lines += "foo.use %" + std::to_string(i) + "\n";
    CHECK(error_of(in_function(lines)).starts_with("too_large "));
}

// Every module that is cut off gives an error or, if only lines at its end are missing, a module.
TEST_CASE("StableHLO: a module that is cut off at any place") {
    const std::string text =
        "module @m {\n  func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {\n"
        "    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, "
        "tensor<f32>) -> tensor<f32> loc(\"f\"(\"a.py\":1:2))\n"
        "    %1 = \"stablehlo.all_reduce\"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({\n"
        "    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n      stablehlo.return %x : tensor<f32>\n"
        "    }) : (tensor<f32>) -> tensor<f32>\n    return %1 : tensor<f32>\n  }\n}\n";
    CHECK(read_stablehlo_text(text, "whole").has_value());
    for (std::size_t size = 0; size + 2 < text.size(); ++size) {
        CAPTURE(size);
        CHECK_FALSE(read_stablehlo_text(text.substr(0, size), "cut").has_value());
    }
}
