"""Makes the protos of this folder, and the text of the same modules: `python tests/protos/make.py`, with JAX.

The files of another version of JAX differ in what the compiler does, not in what a reader must do.
"""

from __future__ import annotations

import importlib
import os
import pathlib

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import numpy as np

HERE = pathlib.Path(__file__).parent

# Compiled under a name of its own, and only the innermost line is kept, so that no path of a machine gets into files.
jax.config.update("jax_traceback_in_locations_limit", 1)
SOURCE = """
import jax.numpy as jnp
from jax import lax

def scanned(w, x):
    def layer(x, w):
        return jnp.tanh(x @ w), None
    return lax.scan(layer, x, w)[0].sum()

def sharded(w, x):
    return jnp.tanh(x @ w).sum(0)

def mixed(x, k, ids):
    y = lax.conv_general_dilated(x, k, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    y = lax.cond(ids[0] > 3, lambda y: jnp.sort(y, -1), lambda y: y * jnp.bfloat16(0.5), y)
    return y.reshape(-1, 8)[ids], jnp.pad(ids, (1, 2)), lax.top_k(y, 2)[1], ids[1:4:2]
"""
SPACE: dict[str, object] = {}
exec(compile(SOURCE, "layers.py", "exec"), SPACE)


def struct(*sizes: int, dtype: object = np.float32, sharding: object = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, dtype, sharding=sharding)


def write(name: str, module: object) -> None:
    options = importlib.import_module("jaxlib._hlo").HloPrintOptions()
    options.print_metadata = True
    (HERE / f"{name}.hlo").write_text(module.to_string(options))  # type: ignore[attr-defined]
    (HERE / f"{name}.hlo.pb").write_bytes(module.as_serialized_hlo_module_proto())  # type: ignore[attr-defined]


def main() -> None:
    axis, spec = jax.sharding.NamedSharding, jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    scanned = jax.jit(SPACE["scanned"], donate_argnums=1)
    sharded = jax.jit(SPACE["sharded"])
    mixed = jax.jit(SPACE["mixed"])
    lowered = scanned.lower(struct(5, 16, 16), struct(8, 16))
    write("scanned", lowered.compile().runtime_executable().hlo_modules()[0])
    split = struct(16, 32, sharding=axis(mesh, spec("y", None))), struct(8, 16, sharding=axis(mesh, spec("x", "y")))
    write("sharded", sharded.lower(*split).compile().runtime_executable().hlo_modules()[0])
    image, kernel = struct(2, 16, 16, 4, dtype=jax.numpy.bfloat16), struct(3, 3, 4, 8, dtype=jax.numpy.bfloat16)
    before = mixed.lower(image, kernel, struct(5, dtype=np.int32)).compiler_ir("hlo")
    write("mixed", before.get_hlo_module())


main()
