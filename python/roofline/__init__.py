"""roofline: how long a deep-learning computation should take, what limits it, and what would change that.

>>> import roofline as rl
>>> answer = rl.op("bf16[B, D] * bf16[D, F] -> bf16[B, F]", on="h100-sxm", dims=dict(B=256, D=8192, F=8192))
>>> answer.bound_by
'hbm'

Functions ask (op, machine, model, train, serve, hlo, jax, torch, validate, fit, trace, and those of the module plan),
and answers have attributes in SI base units. The options are those of the command line.
"""

from . import plan
from ._answers import (
    Answer,
    FitAnswer,
    HloAnswer,
    MachineAnswer,
    ModelAnswer,
    OpAnswer,
    PlanAnswer,
    ServeAnswer,
    TraceAnswer,
    TrainAnswer,
    ValidateAnswer,
)
from ._ask import models
from ._core import __version__
from ._error import Error, Place
from ._jax import jax
from ._questions import fit, hlo, machine, model, op, serve, trace, train, validate
from ._records import Picture, Record
from ._sweep import Compiled, Figures, Sweep
from ._torch import torch
from ._torch_graph import torch_graph

__all__ = [
    "Answer",
    "Compiled",
    "Error",
    "Figures",
    "FitAnswer",
    "HloAnswer",
    "MachineAnswer",
    "ModelAnswer",
    "OpAnswer",
    "Picture",
    "Place",
    "PlanAnswer",
    "Record",
    "ServeAnswer",
    "Sweep",
    "TraceAnswer",
    "TrainAnswer",
    "ValidateAnswer",
    "__version__",
    "fit",
    "hlo",
    "jax",
    "machine",
    "model",
    "models",
    "op",
    "plan",
    "serve",
    "torch",
    "torch_graph",
    "trace",
    "train",
    "validate",
]
