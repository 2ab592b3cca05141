"""Graphs of PyTorch as JSON: what the reader of `roofline hlo` needs to know of each node, and no rules of cost."""

from __future__ import annotations

import importlib
import inspect
import json
import operator
import pathlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._error import Error

FORMAT = "torch graph"
VERSION = 1
FRAME = re.compile(r'File "([^"]+)", line (\d+)')
REMEDY = "give example arguments of fixed sizes, without dynamic_shapes, or the sizes themselves: dims={%s}"


def _module() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise Error(
            "no_torch",
            "PyTorch is not installed in this environment",
            "pip install torch; or record the graph where it is installed, with rl.torch_graph(module, args), and "
            "give the name of that file to rl.torch() or rl.hlo()",
        ) from None


class _Writer:
    """Writes the nodes of one graph."""

    def __init__(self, torch: Any, owner: Any, dims: Mapping[str, int]) -> None:
        self.torch = torch
        self.owner = owner  # whose attributes the nodes name
        self.dims = dims
        self.used: set[str] = set()
        self.symbols: set[str] = set()
        self.own_folder = str(pathlib.Path(torch.__file__).parent)
        self.fx_node = torch.fx.Node
        self.symbolic = (torch.SymInt, torch.SymFloat, torch.SymBool)

    def number(self, value: Any) -> Any:
        """A symbolic number: known, bound by `dims`, or its expression."""
        expression = value.node.expr
        names = {str(symbol) for symbol in getattr(expression, "free_symbols", ())}
        self.used |= names & set(self.dims)
        bound = expression.subs({each: self.dims[str(each)] for each in expression.free_symbols if str(each) in self.dims})
        if bound.free_symbols:
            self.symbols |= {str(symbol) for symbol in bound.free_symbols}
            return str(bound)
        if getattr(bound, "is_Boolean", False):
            return bool(bound)
        return int(bound) if bound.is_integer else float(bound)

    def value(self, value: Any) -> Any:
        """The type of a value: "float32[2,8]" of a tensor, numbers as they are."""
        if isinstance(value, self.torch.Tensor) or (hasattr(value, "shape") and hasattr(value, "dtype")):
            sizes = [self.number(size) if isinstance(size, self.symbolic) else int(size) for size in value.shape]
            return f"{str(value.dtype).removeprefix('torch.')}[{','.join(map(str, sizes))}]"
        if isinstance(value, self.symbolic):
            return self.number(value)
        if isinstance(value, bool | int | float):
            return value
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return None

    def argument(self, value: Any) -> Any:
        """An argument: nodes are "%name", and other texts that begin with a percent sign have one more."""
        if isinstance(value, self.fx_node):
            return f"%{value.name}"
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, self.symbolic):
            return self.number(value)
        if isinstance(value, str):
            return f"%{value}" if value.startswith("%") else value
        if isinstance(value, list | tuple):
            return [self.argument(each) for each in value]
        if isinstance(value, slice):
            return {"slice": [self.argument(each) for each in (value.start, value.stop, value.step)]}
        if isinstance(value, Mapping):
            return {str(key): self.argument(each) for key, each in value.items()}
        return str(value)[:200]

    def target(self, node: Any) -> str:
        target = node.target
        if isinstance(target, str):
            return target
        if hasattr(target, "_schema") or isinstance(target, self.torch._ops.HigherOrderOperator):
            return str(target)
        # Functions are known by their names: operator.add, torch.nn.functional.gelu.
        module = getattr(target, "__module__", None) or type(target).__module__
        return f"{module}.{getattr(target, '__name__', type(target).__name__)}".replace("_operator.", "operator.")

    def source(self, trace: str) -> tuple[str, int] | None:
        """The innermost line outside of PyTorch."""
        frames = [(file, int(line)) for file, line in FRAME.findall(trace) if not file.startswith("<")]
        own = [frame for frame in frames if not frame[0].startswith(self.own_folder)]
        return (own or frames or [None])[-1]

    def called(self, target: str) -> dict[str, Any]:
        """The class of a called module, the types of its parameters and its simple attributes."""
        try:
            module = self.owner.get_submodule(target)
        except AttributeError:
            return {}
        tensors = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
        return {
            "class": f"{type(module).__module__}.{type(module).__qualname__}",
            "parameters": {name: self.value(tensor) for name, tensor in tensors},
            "settings": {
                name: self.argument(value)
                for name, value in vars(module).items()
                if not name.startswith("_") and isinstance(value, bool | int | float | str | tuple)
            },
        }

    def node(self, node: Any) -> dict[str, Any]:
        out: dict[str, Any] = {"name": node.name, "op": node.op, "target": self.target(node)}
        if node.args:
            out["args"] = [self.argument(each) for each in node.args]
        if node.kwargs:
            out["kwargs"] = {key: self.argument(each) for key, each in node.kwargs.items()}
        value = node.meta.get("val", node.meta.get("tensor_meta"))
        if value is None and node.op == "get_attr":
            value = operator.attrgetter(node.target)(self.owner)
            value = value if isinstance(value, self.torch.Tensor) else None
        known = self.value(value)
        if known is not None:
            out["value"] = known
        place = self.source(node.meta.get("stack_trace") or "")
        if place:
            out["file"], out["line"] = place
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        if stack:
            path, kind = stack[-1][0], stack[0][1]
            name = kind if isinstance(kind, str) else kind.__qualname__
            out["scope"] = "/".join([name.rsplit(".", 1)[-1], *filter(None, path.split("."))])
        if node.op == "call_module":
            out.update(self.called(str(node.target)))
        return out


def _groups(torch: Any, nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The ranks of the process groups that collectives name, as far as this process knows them."""
    distributed = torch.distributed
    names = {
        arg
        for node in nodes
        if "c10d" in node["target"]
        for arg in [*node.get("args", ()), *node.get("kwargs", {}).values()]
        if isinstance(arg, str) and not arg.startswith("%")
    }
    if not names or not distributed.is_available() or not distributed.is_initialized():
        return {}
    groups = {}
    for name in sorted(names):
        try:
            group = distributed.distributed_c10d._resolve_process_group(name)
            groups[name] = distributed.get_process_group_ranks(group)
        except Exception:  # noqa: S112 - "sum" and other words are no groups
            continue
    return {"devices": distributed.get_world_size(), "groups": groups}


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]}"


def _exported(torch: Any, module: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    try:
        return torch.export.export(module, tuple(args), dict(kwargs or {}))
    except Exception as error:  # whatever tracing raises: the user's module runs on tensors without data
        raise Error(
            "cannot_export",
            f"torch.export cannot export the module: {_first_line(error)}",
            "call torch.export.export(module, args) to see where; shapes must not depend on values, and arguments "
            "must be tensors (device='meta' allocates nothing) or trees of them",
        ) from error


def _lines(torch: Any) -> Any:
    """A mode in which the traced nodes get the user's line: that of the call or, of an operation of the backward pass,
    that of the call whose gradient it computes."""
    traceback = importlib.import_module("torch.fx.traceback")
    skipped = (str(pathlib.Path(torch.__file__).parent), str(pathlib.Path(__file__).parent))

    class Lines(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            node = torch._C._current_autograd_node()
            place = None if node is None else node.metadata.get("traceback_")
            if place is None:
                frame = inspect.currentframe()
                while frame is not None and frame.f_code.co_filename.startswith(skipped):
                    frame = frame.f_back
                if frame is not None:
                    place = [f'File "{frame.f_code.co_filename}", line {frame.f_lineno}, in forward']
            traceback.set_stack_trace(list(place or ()))
            return func(*args, **(kwargs or {}))

    return Lines()


def _without_meta(torch: Any, args: Sequence[Any]) -> Any:
    """The arguments with tensors without data on the CPU in place of those on the device "meta"; None without any."""
    mode = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode()
    found = False

    def moved(value: Any) -> Any:
        nonlocal found
        if not isinstance(value, torch.Tensor) or value.device.type != "meta":
            return mode.from_tensor(value) if isinstance(value, torch.Tensor) else value
        found = True
        with mode:
            made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cpu")
        return made.requires_grad_(value.requires_grad)

    values = torch.utils._pytree.tree_map(moved, tuple(args))
    return values if found else None


def _traced(torch: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    make_fx = importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx

    lines = _lines(torch)

    def called(*values: Any) -> Any:
        with lines:
            return function(*values, **dict(kwargs or {}))

    preserve = importlib.import_module("torch.fx.traceback").preserve_node_meta

    def trace(values: Sequence[Any]) -> Any:
        # Anomaly detection is what makes autograd remember the lines of the forward pass.
        with preserve(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.autograd.detect_anomaly(check_nan=False):
                return make_fx(called, tracing_mode="fake")(*values)

    try:
        # Only tensors of a device have fused attention. Those of "meta" are traced as if they were on the CPU, unless
        # the function has others in it.
        fake = _without_meta(torch, args)
        if fake is not None:
            try:
                return trace(fake)
            except Exception:  # the message is that of the arguments as they are
                pass
        return trace(args)
    except Exception as error:  # as above
        raise Error(
            "cannot_export",
            f"the function cannot be traced: {_first_line(error)}",
            "call torch.fx.experimental.proxy_tensor.make_fx(f, tracing_mode='fake')(*args) to see where; shapes must "
            "not depend on values, and arguments must be tensors or trees of them",
        ) from error


def _has_shapes(graph: Any) -> bool:
    return all("val" in node.meta or "tensor_meta" in node.meta for node in graph.nodes if node.op == "placeholder")


def torch_graph(
    module: Any,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    dims: Mapping[str, int] | None = None,
) -> str:
    """The graph of a PyTorch module as JSON, which `hlo()`, `torch()` and `roofline hlo` read without PyTorch.

    Nothing is computed. The graph has operations, shapes and dtypes, source lines and paths of modules; no weights.

    Args:
        module: An `nn.Module` or a function, with `args`; or a `torch.export.ExportedProgram` or `fx.GraphModule`
            whose nodes have shapes (of `torch.export`, `make_fx` or `ShapeProp`).
        args: Its arguments, a tuple: tensors, also on the device "meta" (then nothing is allocated), or trees of them.
        kwargs: Its arguments by name.
        dims: Sizes of symbols in the shapes of a graph that was exported with dynamic shapes: {"s31": 8}.

    Raises:
        Error: PyTorch is not installed, the module cannot be exported for these arguments, or a size is not known.
    """
    torch = _module()
    if args is not None and not isinstance(args, tuple | list):
        message = f"the arguments of the module are a tuple, not {type(args).__name__}"
        raise Error("bad_argument", message, "rl.torch(module, (x,), on=..)")
    exported = torch.export.ExportedProgram
    graph_module = isinstance(module, torch.fx.GraphModule)
    if isinstance(module, exported) or (graph_module and args is None):
        if args is not None:
            message = "an exported program has its arguments already, and others are given"
            raise Error("bad_argument", message, "leave `args` out, or give the module that was exported")
    elif isinstance(module, torch.nn.Module) or callable(module):
        if isinstance(module, torch.nn.Module) and args is None:
            raise Error("missing_argument", "the module needs `args`", "rl.torch(module, (x,), on=..)")
        trace = _exported if isinstance(module, torch.nn.Module) else _traced
        module = trace(torch, module, args or (), kwargs)
    else:
        raise Error(
            "bad_argument",
            f"a module, a function, an ExportedProgram or a GraphModule is needed, not {type(module).__name__}",
            "rl.torch(module, (x,), on=..), or the name of a recorded file: rl.torch('graph.json', on=..)",
        )
    graph = module.graph
    if not _has_shapes(graph):
        message = "the nodes of this GraphModule have no shapes"
        raise Error("no_shapes", message, "give `args`, or run torch.fx.passes.shape_prop.ShapeProp over it")
    owner = module.graph_module if isinstance(module, exported) else module
    if dims is not None and not all(isinstance(size, int) and size > 0 for size in dims.values()):
        raise Error("bad_size", "`dims` gives a size that is no positive whole number", "for example dims={'s31': 8}")
    writer = _Writer(torch, owner, dims or {})
    nodes = [writer.node(node) for node in graph.nodes]
    if writer.symbols:
        names = ", ".join(sorted(writer.symbols))
        example = ", ".join(f"'{symbol}': 8" for symbol in sorted(writer.symbols))
        raise Error("dynamic_shape", f"the graph has sizes that are not known: {names}", REMEDY % example)
    unknown = sorted(set(dims or {}) - writer.used)
    if unknown:
        message = f"no size of the graph depends on {', '.join(unknown)}"
        raise Error("unknown_dim", message, "leave it out: the graph has no such symbol")
    document = {
        "roofline": FORMAT,
        "version": VERSION,
        "torch": torch.__version__,
        **_groups(torch, nodes),
        "nodes": nodes,
    }
    lines = ",\n".join(json.dumps(node) for node in document.pop("nodes"))
    return json.dumps(document)[:-1] + f', "nodes": [\n{lines}\n]}}\n'
