#include "import/xla/fx/fx_text.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "import/xla/read_xla_module.hpp"
#include "text/gzip.hpp"

using namespace roofline::core;

namespace {

std::string graph_of(const std::string& nodes) {
    return "{\"roofline\": \"torch graph\", \"version\": 1, \"nodes\": [\n" + nodes + "]}\n";
}

std::string input(const std::string& name, const std::string& type) {
    return fmt::format(R"({{"name": "{0}", "op": "placeholder", "target": "{0}", "value": "{1}"}},
)",
                       name, type);
}

std::string call(const std::string& name, const std::string& target, const std::string& args, const std::string& type,
                 const std::string& more = "") {
    return fmt::format(R"({{"name": "{}", "op": "call_function", "target": "{}", "args": {}, "value": {}{}}},
)",
                       name, target, args, type, more);
}

std::string output(const std::string& name) {
    return fmt::format(R"({{"name": "output", "op": "output", "target": "output", "args": [["%{}"]]}})", name);
}

XlaModule module_of(const std::string& text) {
    auto module = read_xla_module(text, "g.json");
    REQUIRE_MESSAGE(module, to_text(module.error()));
    return std::move(*module);
}

// The instructions of the entry as HLO writes them, a line each, without the tuple of its results.
std::string written(const XlaModule& module) {
    std::string text;
    const XlaComputation& main = module.main();
    for (std::size_t at = 0; at + 1 < main.instructions.size(); ++at) {
        const XlaInstruction& each = main.instructions[at];
        text += fmt::format("{} = {} {}({}", each.name, shape_text(each.shape), each.opcode, each.literal);
        for (std::size_t i = 0; i < each.operands.size(); ++i) {
            text += fmt::format("{}{}", i == 0 ? "" : ", ", main.instructions[each.operands[i]].name);
        }
        text += ")";
        for (const XlaAttribute& attribute : each.attributes) {
            text += fmt::format(", {}={}", attribute.key, attribute.value);
        }
        text += "\n";
    }
    return text;
}

// What one call becomes, without the inputs a and b.
std::string instructions_of(const std::string& a, const std::string& b, const std::string& target,
                            const std::string& args, const std::string& type) {
    const std::string text =
        written(module_of(graph_of(input("a", a) + input("b", b) + call("r", target, args, type) + output("r"))));
    return text.substr(text.find('\n', text.find('\n') + 1) + 1);
}

std::string error_of(const std::string& text) {
    const auto module = read_xla_module(text, "g.json");
    REQUIRE_FALSE(module.has_value());
    const Error& error = module.error();
    return error.place ? fmt::format("{}:{} {}: {}", error.place->line, error.place->column, error.code, error.message)
                       : fmt::format("{}: {}", error.code, error.message);
}

}  // namespace

TEST_CASE("a graph of PyTorch is a module: names, lines and scopes of its nodes") {
    const std::string place = R"(, "file": "m.py", "line": 7, "scope": "MLP/up")";
    const XlaModule module = module_of(graph_of(
        input("x", "bfloat16[3,4]") + input("w", "bfloat16[5,4]") + input("c", "bfloat16[5]") +
        call("up", "aten.linear.default", R"(["%x", "%w", "%c"])", R"("bfloat16[3,5]")", place) + output("up")));
    CHECK(written(module) ==
          "x = bf16[3,4] parameter(0)\n"
          "w = bf16[5,4] parameter(1)\n"
          "c = bf16[5] parameter(2)\n"
          "up = bf16[3,5] dot(x, w), lhs_batch_dims={}, lhs_contracting_dims={1}, rhs_batch_dims={}, "
          "rhs_contracting_dims={1}\n"
          "up.1 = bf16[3,5] broadcast(c), dimensions={1}\n"
          "up.2 = bf16[3,5] add(up, up.1)\n");
    const XlaInstruction& dot = module.main().instructions[3];
    CHECK(dot.origin.file == "m.py");
    CHECK(dot.origin.line == 7);
    CHECK(dot.origin.op_name == "MLP/up");
    CHECK(shape_text(module.main().result().shape) == "(bf16[3,5])");
}

TEST_CASE("matmuls: vectors, batches that are broadcast, products of einsum") {
    CHECK(instructions_of("float32[7,9]", "float32[9]", "aten.mv.default", R"(["%a", "%b"])", R"("float32[7]")") ==
          "r = f32[7] dot(a, b), lhs_batch_dims={}, lhs_contracting_dims={1}, rhs_batch_dims={}, "
          "rhs_contracting_dims={0}\n");
    CHECK(instructions_of("float32[5,1,7,9]", "float32[3,9,4]", "torch.matmul", R"(["%a", "%b"])",
                          R"("float32[5,3,7,4]")") ==
          "r = f32[5,3,7,4] dot(a, b), lhs_batch_dims={}, lhs_contracting_dims={3}, rhs_batch_dims={}, "
          "rhs_contracting_dims={1}\n");
    CHECK(instructions_of("float32[2,7,9]", "float32[2,9,4]", "aten.bmm.default", R"(["%a", "%b"])",
                          R"("float32[2,7,4]")") ==
          "r = f32[2,7,4] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
          "rhs_contracting_dims={1}\n");
    CHECK(instructions_of("float32[2,7,9]", "float32[9,2,4]", "aten.einsum.default",
                          R"(["btd, dbf -> bft", ["%a", "%b"]])", R"("float32[2,4,7]")") ==
          "r = f32[2,7,4] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={1}, "
          "rhs_contracting_dims={0}\n"
          "r.1 = f32[2,4,7] bitcast(r)\n");
}

TEST_CASE("einsum of several operands takes the path that PyTorch chose") {
    // (5 x 7)(7 x 3), then the vector; by the path 0,2 first the vector with the matrix that it shares `b` with.
    const auto flops = [](const std::string& more) {
        const XlaModule module = module_of(graph_of(
            input("a", "float32[5,7]") + input("b", "float32[7,3]") + input("c", "float32[7]") +
            call("r", "aten.einsum.default", R"(["ab,bc,b->ac", ["%a", "%b", "%c"]])", R"("float32[5,3]")", more) +
            output("r")));
        return written(module);
    };
    // From left to right `b` has to stay for the vector: an array of 5 x 7 x 3.
    CHECK(flops("").find("f32[7,5,3]") != std::string::npos);
    const std::string planned = flops(R"(, "kwargs": {"path": [2, 0, 1, 0]})");
    CHECK(planned.find("f32[7,5,3]") == std::string::npos);
    CHECK(planned.find("multiply") < planned.find("dot"));
    for (const std::string_view path : {"[0, 3, 0, 1]", "[0, 0, 0, 1]", "[0, 1]", "[-1, 0, 0, 1]"}) {
        CHECK(flops(fmt::format(R"(, "kwargs": {{"path": {}}})", path)).find("dot") == std::string::npos);
    }
}

TEST_CASE("views cost nothing, copies and parts are named") {
    CHECK(instructions_of("float32[2,3]", "float32[1]", "aten.transpose.int", R"(["%a", 0, 1])", R"("float32[3,2]")") ==
          "r = f32[3,2] bitcast(a)\n");
    CHECK(instructions_of("float32[2,1]", "float32[1]", "aten.expand.default", R"(["%a", [5, -1, 3]])",
                          R"("float32[5,2,3]")") == "r = f32[5,2,3] broadcast(a), dimensions={1,2}\n");
    CHECK(instructions_of("float32[2,3]", "float32[1]", "aten.repeat.default", R"(["%a", [2, 1]])",
                          R"("float32[4,3]")") ==
          "r.0 = f32[2,2,3] broadcast(a), dimensions={1,2}\nr = f32[4,3] bitcast(r.0)\n");
    CHECK(instructions_of("float32[2,6]", "float32[1]", "aten.slice.Tensor", R"(["%a", 1, 0, 4])",
                          R"("float32[2,4]")") == "r = f32[2,4] slice(a)\n");
    CHECK(instructions_of("float32[2,6]", "float32[1]", "aten.slice.Tensor", R"(["%a", 1, 0, 6])",
                          R"("float32[2,6]")") == "");
    CHECK(instructions_of("float32[2,6]", "float32[3,6]", "aten.cat.default", R"([["%a", "%b"]])",
                          R"("float32[5,6]")") == "r = f32[5,6] concatenate(a, b)\n");
}

TEST_CASE("convolutions: labels and windows") {
    CHECK(instructions_of("float32[2,4,9,9]", "float32[6,2,3,5]", "aten.conv2d.default",
                          R"(["%a", "%b", null, [2, 1], [1, 0], 1, 2])", R"("float32[2,6,5,5]")") ==
          "r = f32[2,6,5,5] convolution(a, b), window={size=3x5 stride=2x1 pad=1_1x0_0 lhs_dilate=1x1 "
          "rhs_dilate=1x1}, dim_labels=bf01_oi01->bf01, feature_group_count=2\n");
    // The taps of a transposed one go backwards over an input with holes.
    CHECK(instructions_of("float32[2,4,5]", "float32[4,3,3]", "aten.convolution.default",
                          R"(["%a", "%b", null, [2], [1], [1], true, [1], 2])", R"("float32[2,6,10]")") ==
          "r.0 = f32[2,6,3] bitcast(b)\n"
          "r = f32[2,6,10] convolution(a, r.0), window={size=3 stride=1 pad=1_2 lhs_dilate=2 rhs_dilate=1}, "
          "dim_labels=bf0_io0->bf0, feature_group_count=2\n");
}

TEST_CASE("attention: sizes, masks, groups of heads") {
    CHECK(instructions_of("bfloat16[2,8,12,6]", "bfloat16[2,4,20,6]", "aten.scaled_dot_product_attention.default",
                          R"(["%a", "%b", "%b", null, 0.0, true])", R"("bfloat16[2,8,12,6]")") ==
          "r = bf16[2,8,12,6] custom-call(a, b, b), custom_call_target=\"attention\", "
          "backend_config={\"input_batch\":2,\"attn_heads\":8,\"num_gqa_groups\":4,\"q_max_seqlen\":12,"
          "\"kv_max_seqlen\":20,\"qk_head_dim\":6,\"v_head_dim\":6,\"mask_type\":2,\"bias_dims\":\"\"}\n");
}

TEST_CASE("collectives: the groups of all devices") {
    const std::string nodes =
        input("x", "float32[8]") +
        call("r", "_c10d_functional.all_reduce.default", R"(["%x", "sum", "1"])", R"("float32[8]")") +
        call("w", "_c10d_functional.wait_tensor.default", R"(["%r"])", R"("float32[8]")") + output("w");
    const std::string text =
        "{\"roofline\": \"torch graph\", \"version\": 1, \"devices\": 8, \"groups\": {\"1\": "
        "[1, 3]}, \"nodes\": [" +
        nodes + "]}";
    const XlaModule module = module_of(text);
    CHECK(written(module) ==
          "x = f32[8] parameter(0)\n"
          "r = f32[8] all-reduce(x), replica_groups=[4,2]<=[2,2,2]T(0,2,1)\n");
    CHECK(module.attribute("num_partitions") == "8");
}

TEST_CASE("what has no rule, or other arguments than its rule expects, keeps its name") {
    CHECK(instructions_of("float32[2,3]", "float32[4]", "mine.linear.default", R"(["%a", 3])", R"("float32[3]")") ==
          "r = f32[3] mine.linear.default(a)\n");
    CHECK(instructions_of("float32[2,3]", "float32[4,5]", "aten.mm.default", R"(["%a", "%b"])", R"("float32[2,5]")") ==
          "r = f32[2,5] aten.mm.default(a, b)\n");
    CHECK(instructions_of("float32[2,3]", "float32[4,5]", "frobnicate", R"(["%a"])", R"(["float32[2]", 3, null])") ==
          "r = (f32[2], token[], ()) function frobnicate(a)\n"
          "r.1 = f32[2] get-tuple-element(r), index=0\n"
          "r.2 = token[] get-tuple-element(r), index=1\n"
          "r.3 = () get-tuple-element(r), index=2\n"
          "output.0 = (f32[2]) tuple(r.1)\n");
}

TEST_CASE("hostile graphs are refused with their place") {
    const std::string x = input("x", "float32[2]");
    CHECK(error_of("{}") == "1:1 bad_graph: this JSON is no graph of PyTorch: it has no list of nodes");
    CHECK(error_of("{\"nodes\": []}") == "1:11 bad_graph: the graph has no nodes");
    CHECK(error_of("{\"nodes\": [1]}") == "1:12 bad_graph: a node is an object with name, op and target");
    CHECK(error_of("{\"nodes\": ") == "1:11 cut_off: the file ends in the middle of its JSON");
    CHECK(error_of("{\"roofline\": \"torch graph\", \"version\": 2, \"nodes\": []}") ==
          "1:1 bad_graph: this graph was recorded in another version of the form");
    CHECK(error_of(graph_of(x + input("x", "float32[2]") + output("x"))) ==
          "3:1 defined_twice: the node `x` is defined twice");
    CHECK(error_of(graph_of(call("y", "aten.neg.default", R"(["%y"])", R"("float32[2]")") + output("y"))) ==
          "2:77 undefined: the node `y` is not defined before it is used");
    CHECK(error_of(graph_of(input("x", "float32[s0,4]") + output("x"))) ==
          "2:60 dynamic_shape: the tensor `x` has a size that is not known: s0");
    CHECK(error_of(graph_of(input("x", "float31[4]") + output("x"))) ==
          "2:60 bad_graph: the tensor `x` has a dtype that is not known: float31");
    CHECK(error_of(graph_of(input("x", "float32") + output("x"))) ==
          "2:60 bad_graph: `float32` is no type of a tensor");
    CHECK(error_of(graph_of(input("x", "float32[4294967296,4294967296]") + output("x"))) ==
          "2:60 too_large: the tensor `x` has more bits than 63 bits can count");
    CHECK(error_of(graph_of(input("x", "float32[-1]") + output("x"))) ==
          "2:60 dynamic_shape: the tensor `x` has a size that is not known: -1");
    CHECK(error_of(graph_of(x + R"({"name": "y", "op": "call", "target": "z"})")) ==
          "3:1 bad_graph: `call` is no kind of node of torch.fx");
    CHECK(error_of(graph_of(x + R"({"name": "y", "op": "call_function", "target": "aten.neg.default"})")) ==
          "3:1 bad_graph: the graph has no output");
    CHECK(error_of("{\"nodes\": " + std::string(100, '[')) ==
          "1:74 too_deep: there are more than 64 levels of nesting");
    // A list of 20,000 results that is handed on 2,000 times.
    std::string types = "[";
    std::string twice = "[[";
    for (int i = 0; i < 20'000; ++i) types += i == 0 ? "\"float32[1]\"" : ",\"float32[1]\"";
    for (int i = 0; i < 2'000; ++i) twice += i == 0 ? "\"%many\"" : ",\"%many\"";
    CHECK(error_of(graph_of(x + call("many", "aten.split.Tensor", R"(["%x"])", types + "]") +
                            call("y", "mine.all.default", twice + "]]", R"("float32[1]")") + output("y"))) ==
          "4:1 too_large: the graph hands on more than 20 million values");
    CHECK(error_of("graph():\n    %x") == "bad_hlo: g.json: a printed graph of torch.fx has no shapes");
}
