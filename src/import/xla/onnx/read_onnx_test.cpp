#include "import/xla/onnx/read_onnx.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/cost/xla_executions.hpp"
#include "import/xla/read_xla_module.hpp"

using namespace roofline::core;

namespace {

std::string model_file(const std::string& name) {
    std::ifstream file("tests/onnx/" + name + ".onnx", std::ios::binary);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

XlaModule read_model(const std::string& name, const DimSizes& sizes = {}) {
    auto module = read_xla_module(model_file(name), name + ".onnx", sizes);
    REQUIRE_MESSAGE(module.has_value(), module.error().message);
    return std::move(*module);
}

// Multiplications and additions of matmuls and convolutions, loops as often as they run.
double product_flops(const XlaModule& module) {
    XlaCostOptions options;
    options.multiply_loops = true;
    options.unknown = 0;
    const auto cost = xla_cost(module, options);
    REQUIRE(cost.has_value());
    return xla_executions(module, *cost, true).product_flops;
}

const XlaInstruction& named(const XlaModule& module, std::string_view name, std::string_view opcode) {
    for (const XlaComputation& computation : module.computations) {
        for (const XlaInstruction& each : computation.instructions) {
            if (each.name == name && each.opcode == opcode) return each;
        }
    }
    FAIL("no such instruction: ", std::string(name));
    return module.main().instructions.front();
}

std::string onnx_error(const std::string& bytes, const DimSizes& sizes = {}) {
    const auto module = read_onnx(bytes, "m.onnx", sizes);
    REQUIRE_FALSE(module.has_value());
    return module.error().code + ": " + module.error().message;
}

// Fields of a message, shorter than 128 bytes each.
std::string part(int field, const std::string& bytes) {
    REQUIRE(bytes.size() < 128);
    return std::string(1, static_cast<char>(field << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}
std::string count(int field, int value) {
    return std::string(1, static_cast<char>(field << 3)) + static_cast<char>(value);
}
std::string value_of(int field, const std::string& name, const std::string& dims) {
    std::string shape;
    for (const char dim : dims) shape += part(1, count(1, dim));
    return part(field, part(1, name) + part(2, part(1, count(1, 1) + part(2, shape))));
}
std::string node_of(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
    std::string text;
    for (const std::string& input : inputs) text += part(1, input);
    return part(1, text + part(2, output) + part(4, type));
}
std::string model_of(const std::string& graph) {
    return count(1, 8) + part(7, graph) + part(8, part(1, "") + count(2, 17));
}

}  // namespace

TEST_CASE("a model whose batch is only named") {
    const XlaModule module = read_model("mlp", {{"batch", 5}});
    // 2 x 5 x 32 x 128 and 2 x 5 x 128 x 16.
    CHECK(product_flops(module) == 40960 + 20480);
    CHECK(shape_text(module.main().result().shape) == "(f32[5,16])");
    CHECK(named(module, "up/Gemm", "dot").origin.op_name == "up/Gemm");
    const std::string bytes = model_file("mlp");
    CHECK(onnx_error(bytes) == "unbound_dimension: the model's inputs have dimensions without a size: batch");
    const auto other = read_onnx(bytes, "m.onnx", {{"bacth", 3}});
    REQUIRE_FALSE(other.has_value());
    CHECK(other.error().hint == "did you mean `batch`?");
}

TEST_CASE("a convolution net with axes as attributes") {
    const XlaModule module = read_model("convnet");
    // Of 8 x 8 positions the top and left ones lack a row or a column of the window: 23 taps along each dimension.
    // 2 x 2 images x 8 channels x 3 channels x 23 x 23; depthwise: 22 taps along a dimension of 8, one channel each.
    CHECK(product_flops(module) == 2.0 * 2 * 8 * 3 * 23 * 23 + 2.0 * 2 * 8 * 22 * 22);
    CHECK(shape_text(named(module, "conv", "convolution").shape) == "f32[2,8,8,8]");
    CHECK(shape_text(named(module, "pool", "reduce-window").shape) == "f32[2,8,4,4]");
    CHECK(shape_text(module.main().result().shape) == "(f32[2,8])");
}

TEST_CASE("shapes that are computed from shapes") {
    const XlaModule module = read_model("attention", {{"batch", 2}, {"seq", 10}});
    // Two projections of 20 rows, and scores of 2 x 4 heads.
    CHECK(product_flops(module) == 2 * 2.0 * 20 * 64 * 64 + 2.0 * 2 * 4 * 10 * 10 * 16);
    CHECK(shape_text(module.main().result().shape) == "(f32[2,4,10,10])");
}

TEST_CASE("loops run as often as they say, and a branch is a conditional") {
    const XlaModule module = read_model("loop");
    // Five matmuls of 8 x 8 x 8 in the loop; each branch counts half, and one of two has one.
    CHECK(product_flops(module) == 5 * 1024.0 + 512);
    CHECK(shape_text(module.main().result().shape) == "(f32[8,8], f32[5,8,8])");
    CHECK(named(module, "loop", "while").called.size() == 2);
    CHECK(named(module, "branch", "conditional").called.size() == 2);
    CHECK(named(module, "step", "dot").origin.op_name == "loop/step");
}

TEST_CASE("functions of a model, unknown operators and stored bytes") {
    const XlaModule module = read_model("custom");
    CHECK(product_flops(module) == 2.0 * 4 * 8 * 8);
    const XlaInstruction& unknown = named(module, "unknown", "custom-call");
    CHECK(unknown.attribute("custom_call_target") == "\"com.example.Mystery\"");
    CHECK(shape_text(unknown.shape) == "f32[4,8]");
    CHECK(named(module, "p", "dot").origin.op_name == "f/p");
    CHECK(shape_text(named(module, "w8", "parameter").shape) == "s8[8,8]");
}

TEST_CASE("models that contradict themselves are refused, with the byte of the node") {
    const std::string x = value_of(11, "x", "\2\3");
    const std::string y = value_of(12, "y", "\2\3");
    REQUIRE(read_onnx(model_of(node_of("Relu", {"x"}, "y") + x + y), "m.onnx", {}).has_value());
    CHECK(onnx_error(model_of(node_of("Relu", {"z"}, "y") + x + y)) ==
          "undefined: m.onnx: byte 4: Relu ``: its input `z` is not defined before it");
    CHECK(onnx_error(model_of(node_of("Relu", {"x"}, "y") + x + value_of(12, "y", "\3\2"))) ==
          "bad_onnx: m.onnx: byte 4: Relu `y`: its result `y` has the shape f32[2,3], and the file says f32[3,2]");
    CHECK(onnx_error(model_of(node_of("Relu", {"x"}, "y") + node_of("Neg", {"x"}, "y") + x + y))
              .starts_with("defined_twice: m.onnx: byte 18"));
    CHECK(onnx_error(model_of(node_of("Relu", {"x"}, "x") + x + y)).starts_with("defined_twice"));
    CHECK(onnx_error(model_of(node_of("Relu", {"x"}, "z") + x + y)).find("output `y` is not defined") !=
          std::string::npos);
    CHECK(onnx_error(model_of(node_of("Add", {"x", "w"}, "y") + x + value_of(11, "w", "\4") + y)) ==
          "bad_onnx: m.onnx: byte 4: Add `y`: the shapes [2,3] and [4] do not fit together");
    CHECK(onnx_error(model_of(node_of("Wonder", {"x"}, "y") + x + part(12, part(1, "y")))).find("is not known") !=
          std::string::npos);
    // A cycle is a value that is used before it is defined.
    CHECK(onnx_error(model_of(node_of("Add", {"x", "b"}, "a") + node_of("Neg", {"a"}, "b") + x + y))
              .starts_with("undefined"));
    CHECK(onnx_error(count(1, 8)) == "bad_onnx: m.onnx: byte 0: the model has no graph");
    CHECK(onnx_error(model_file("mlp").substr(0, 100)).starts_with("cut_off: m.onnx: byte "));
}

TEST_CASE("opsets before 7 are refused") {
    const std::string graph = node_of("Relu", {"x"}, "y") + value_of(11, "x", "\2") + value_of(12, "y", "\2");
    const std::string old = count(1, 3) + part(7, graph) + part(8, part(1, "") + count(2, 6));
    CHECK(onnx_error(old) == "unsupported: m.onnx: byte 0: the model has opset 6, and 7 is the oldest that is read");
}

TEST_CASE("only models have dimensions to be given") {
    const auto module = read_xla_module("HloModule m\nENTRY e { ROOT x = f32[2] parameter(0) }\n", "m.hlo", {{"b", 2}});
    REQUIRE_FALSE(module.has_value());
    CHECK(module.error().code == "bad_request");
}
