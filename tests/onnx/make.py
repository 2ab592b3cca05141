"""Makes the models of this folder: `python tests/onnx/make.py`, with the package onnx. Weights are beside the files,
which is allowed and keeps them small: only shapes matter here."""

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


def main() -> None:
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


main()
