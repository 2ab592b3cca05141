"""Makes the models of this folder and docs/examples/block.onnx: `python tests/onnx/make.py`, with the package onnx.
Weights are said to be beside the files, which keeps them small: only shapes matter here."""

from __future__ import annotations

import pathlib

import onnx
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).parent
F, I64 = TensorProto.FLOAT, TensorProto.INT64


def weight(name: str, *dims: int, dtype: int = F) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, data_type=dtype, dims=dims, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


def ints(name: str, *values: int) -> onnx.TensorProto:
    return helper.make_tensor(name, I64, [len(values)], values)


def value(name: str, *dims: int | str, dtype: int = F) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, dims)


def write(name: str, opset: int, nodes: list, inputs: list, outputs: list, weights: list, **more: object) -> None:
    known = more.pop("value_info", [])
    graph = helper.make_graph(nodes, name, inputs, outputs, weights, value_info=known)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.example", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name="roofline", **more)
    (HERE / f"{name}.onnx").write_bytes(model.SerializeToString())


node = helper.make_node


def block() -> None:
    """A block of a Transformer in f16, as exporters name its nodes."""
    h, wide = TensorProto.FLOAT16, 1024
    nodes, weights = [], []

    def linear(x: str, name: str, columns: int, rows: int = wide) -> str:
        weights.append(weight(f"{name}.weight", rows, columns, dtype=h))
        nodes.append(node("MatMul", [x, f"{name}.weight"], [f"{name}.out"], f"/{name.replace('.', '/')}/MatMul"))
        return f"{name}.out"

    def norm(x: str, name: str) -> str:
        weights.extend([weight(f"{name}.weight", wide, dtype=h), weight(f"{name}.bias", wide, dtype=h)])
        nodes.append(node("LayerNormalization", [x, f"{name}.weight", f"{name}.bias"], [f"{name}.out"],
                          f"/{name}/LayerNormalization", axis=-1))
        return f"{name}.out"

    def then(kind: str, inputs: list[str], out: str, name: str, **more: object) -> str:
        nodes.append(node(kind, inputs, [out], name, **more))
        return out

    weights.extend([ints("heads", 0, 0, 16, 64), ints("joined", 0, 0, wide),
                    helper.make_tensor("scale", h, [], [0.125])])
    inside = norm("x", "norm1")
    parts = {}
    for part, order in ("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3]):
        out = then("Reshape", [linear(inside, f"attn.{part}", wide), "heads"], f"{part}1", f"/attn/{part}/Reshape")
        parts[part] = then("Transpose", [out], f"{part}2", f"/attn/{part}/Transpose", perm=order)
    scores = then("MatMul", [parts["q"], parts["k"]], "scores", "/attn/scores/MatMul")
    scores = then("Softmax", [then("Mul", [scores, "scale"], "scaled", "/attn/scores/Mul")], "weights",
                  "/attn/scores/Softmax", axis=-1)
    mixed = then("MatMul", [scores, parts["v"]], "mixed", "/attn/mix/MatMul")
    mixed = then("Transpose", [mixed], "mixed1", "/attn/mix/Transpose", perm=[0, 2, 1, 3])
    mixed = then("Reshape", [mixed, "joined"], "mixed2", "/attn/mix/Reshape")
    middle = then("Add", ["x", linear(mixed, "attn.out", wide)], "middle", "/attn/Add")
    wider = then("Gelu", [linear(norm(middle, "norm2"), "mlp.up", 4 * wide)], "act", "/mlp/Gelu", approximate="tanh")
    then("Add", [middle, linear(wider, "mlp.down", wide, 4 * wide)], "y", "/mlp/Add")
    write("block", 20, nodes, [value("x", "batch", "seq", wide, dtype=h)], [value("y", "batch", "seq", wide, dtype=h)],
          weights)
    (HERE / "block.onnx").rename(HERE.parents[1] / "docs/examples/block.onnx")


def main() -> None:
    block()
    # Two layers, and a batch that is only named.
    write("mlp", 21,
          [node("Gemm", ["x", "w1", "b1"], ["h"], "/up/Gemm", transB=1), node("Gelu", ["h"], ["a"], "/act/Gelu"),
           node("MatMul", ["a", "w2"], ["y"], "/down/MatMul")],
          [value("x", "batch", 32)], [value("y", "batch", 16)],
          [weight("w1", 128, 32), weight("b1", 128), weight("w2", 128, 16)])
    # Axes and pads as attributes, as opset 11 has them.
    write("convnet", 11,
          [node("Conv", ["x", "k", "kb"], ["c"], "conv", pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
           node("BatchNormalization", ["c", "s", "t", "m", "v"], ["n"], "norm"), node("Relu", ["n"], ["r"], "relu"),
           node("Conv", ["r", "d"], ["e"], "depthwise", pads=[1, 1, 1, 1], group=8),
           node("MaxPool", ["e"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
           node("ReduceMean", ["p"], ["q"], "mean", axes=[2, 3], keepdims=0),
           node("Unsqueeze", ["q"], ["u"], "unsqueeze", axes=[0]), node("Squeeze", ["u"], ["z"], "squeeze", axes=[0]),
           node("Softmax", ["z"], ["y"], "softmax")],
          [value("x", 2, 3, 16, 16)], [value("y", 2, 8)],
          [weight("k", 8, 3, 3, 3), weight("kb", 8), weight("s", 8), weight("t", 8), weight("m", 8), weight("v", 8),
           weight("d", 8, 1, 3, 3)])
    # Shapes computed from shapes, as exporters write them.
    write("attention", 17,
          [node("MatMul", ["x", "wq"], ["q0"], "q"), node("MatMul", ["x", "wk"], ["k0"], "k"),
           node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0),
           node("Gather", ["s", "one"], ["t"], axis=0), node("Unsqueeze", ["n", "first"], ["n1"]),
           node("Unsqueeze", ["t", "first"], ["t1"]), node("Concat", ["n1", "t1", "heads"], ["to"], axis=0),
           node("Reshape", ["q0", "to"], ["q1"]), node("Reshape", ["k0", "to"], ["k1"]),
           node("Transpose", ["q1"], ["q2"], perm=[0, 2, 1, 3]), node("Transpose", ["k1"], ["k2"], perm=[0, 2, 3, 1]),
           node("MatMul", ["q2", "k2"], ["a"], "scores"), node("Softmax", ["a"], ["y"], "softmax", axis=-1)],
          [value("x", "batch", "seq", 64)], [value("y", "batch", 4, "seq", "seq")],
          [weight("wq", 64, 64), weight("wk", 64, 64), helper.make_tensor("zero", I64, [], [0]),
           helper.make_tensor("one", I64, [], [1]), ints("first", 0), ints("heads", 4, 16)])
    # A loop of five matmuls whose results are stacked, and a branch.
    body = helper.make_graph(
        [node("MatMul", ["c", "w"], ["d"], "step"), node("Identity", ["go"], ["on"]), node("Identity", ["d"], ["row"])],
        "body", [value("i", dtype=I64), value("go", dtype=TensorProto.BOOL), value("c", 8, 8)],
        [value("on", dtype=TensorProto.BOOL), value("d", 8, 8), value("row", 8, 8)])
    yes = helper.make_graph([node("MatMul", ["last", "w"], ["r1"], "again")], "yes", [], [value("r1", 8, 8)])
    no = helper.make_graph([node("Identity", ["last"], ["r2"])], "no", [], [value("r2", 8, 8)])
    write("loop", 16,
          [node("Loop", ["five", "", "x"], ["last", "rows"], "loop", body=body),
           node("If", ["flag"], ["y"], "branch", then_branch=yes, else_branch=no)],
          [value("x", 8, 8), value("flag", dtype=TensorProto.BOOL)], [value("y", 8, 8), value("rows", 5, 8, 8)],
          [weight("w", 8, 8), helper.make_tensor("five", I64, [], [5])])
    # A function of the model, an operator that nobody knows, and quantised weights.
    scaled = helper.make_function("com.example", "Scaled", ["a", "b"], ["c"],
                                  [node("MatMul", ["a", "b"], ["p"]), node("LeakyRelu", ["p"], ["c"])],
                                  [helper.make_opsetid("", 17)])
    write("custom", 17,
          [node("DequantizeLinear", ["w8", "scale"], ["w"], axis=1), node("Scaled", ["x", "w"], ["h"], "f",
                                                                          domain="com.example"),
           node("Mystery", ["h"], ["g"], "unknown", domain="com.example"), node("Add", ["g", "h"], ["y"], "sum")],
          [value("x", 4, 8)], [value("y", 4, 8)], [weight("w8", 8, 8, dtype=TensorProto.INT8), weight("scale", 8)],
          value_info=[value("g", 4, 8)], functions=[scaled])
    # Operators of ONNX Runtime: 8 heads of 32 over 16 positions, and a residual.
    runtime = "com.microsoft"
    write("runtime", 17,
          [node("RotaryEmbedding", ["q", "ids", "cos", "sin"], ["r"], "rotary", domain=runtime),
           node("MultiHeadAttention", ["r", "k", "v"], ["a"], "attention", domain=runtime, num_heads=8),
           node("SkipSimplifiedLayerNormalization", ["a", "q", "g"], ["y", "", "", "s"], "norm", domain=runtime)],
          [value("q", 2, 16, 256), value("k", 2, 16, 256), value("v", 2, 16, 256), value("ids", 2, 16, dtype=I64)],
          [value("y", 2, 16, 256), value("s", 2, 16, 256)],
          [weight("cos", 64, 16), weight("sin", 64, 16), weight("g", 256)])


main()
