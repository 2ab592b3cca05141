"""Searches and sweeps over clusters on this machine: Dask, MPI and Ray answer as one process does, and a killed worker
costs its part. ./dev test --all installs them and runs this."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import pytest

import roofline as rl

ROOT = pathlib.Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "guide" / "python.md"
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
# Most of the plans are beside the leading sets of axes; a search takes seconds.
SEARCH: dict[str, Any] = {"on": "h100-sxm:8x4", "batch_tokens": "1Mi", "seq": 4096, "remat": "full"}


def untimed(answer: rl.Answer) -> dict[str, Any]:
    values = answer.to_dict()
    assert values.pop("search_s") > 0
    return values


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return untimed(rl.plan.train("llama-3.1-8b", **SEARCH))


def check_sweep(executor: Any) -> None:
    def ask(**more: Any) -> Any:
        return rl.op(MATMUL, on="h100-sxm", dims={"B": np.arange(1, 300_001), "D": 8192, "F": 8192}, **more)

    assert ask(executor=executor).to_pandas().equals(ask().to_pandas())


def dying(marker: str, fn: Callable[..., Any], *args: Any) -> Any:
    """Kills the process that it is called in, the first time."""
    if not os.path.exists(marker):
        pathlib.Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return fn(*args)


class Killing(Executor):
    """Kills the worker that gets the second part."""

    def __init__(self, executor: Executor, marker: pathlib.Path) -> None:
        self.executor, self.marker, self.parts, self.num_workers = executor, str(marker), 0, 2

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.parts += bool(args)
        if args and self.parts == 2:
            return self.executor.submit(dying, self.marker, fn, *args)
        return self.executor.submit(fn, *args)


def check_killed(executor: Executor, marker: pathlib.Path, whole: dict[str, Any]) -> list[str]:
    """Returns the warnings of a search of which a worker is killed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = rl.plan.train("llama-3.1-8b", executor=Killing(executor, marker), parts=4, **SEARCH)
    assert marker.exists() and untimed(found) == whole
    return [str(each.message) for each in caught if each.category is RuntimeWarning]


@contextlib.contextmanager
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_dask(whole: dict[str, Any]) -> None:
    with dask_client() as client, warnings.catch_warnings():
        warnings.filterwarnings("error", category=RuntimeWarning)
        assert untimed(rl.plan.train("llama-3.1-8b", executor=client, **SEARCH)) == whole
        assert untimed(rl.plan.train("llama-3.1-8b", executor=client.get_executor(), parts=3, **SEARCH)) == whole
        check_sweep(client)
        with pytest.raises(rl.Error, match="unknown|did you mean"):
            rl.plan.train("llama-3.1-8c", executor=client, **SEARCH)
    with pytest.raises(rl.Error) as caught:
        rl.plan.train("llama-3.1-8b", executor=client, **SEARCH)
    assert caught.value.code == "bad_executor" and caught.value.hint and caught.value.place is not None


@pytest.mark.parametrize("failures", [0, 3])
def test_dask_with_a_killed_worker(whole: dict[str, Any], failures: int, tmp_path: pathlib.Path) -> None:
    """Dask repeats the tasks of a lost worker; where it may not, the package does."""
    dask = pytest.importorskip("dask")
    with dask.config.set({"distributed.scheduler.allowed-failures": failures}), dask_client() as client:
        told = check_killed(client.get_executor(), tmp_path / "killed", whole)
    assert bool(told) == (failures == 0), told
    assert all("lost with their workers (KilledWorker" in each for each in told)


def mpi(script: pathlib.Path, *more: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mpi4py")
    if shutil.which("mpiexec") is None:
        pytest.skip("mpiexec is absent")
    plain = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    words = ["mpiexec", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script), *more]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=plain)


MPI = """
import os, signal, sys, threading, time
import numpy as np
from mpi4py.futures import MPIPoolExecutor
import roofline as rl
from roofline._executors import workers_of

search = {search}

def killed():
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        if "kill" in sys.argv:
            pool.submit(killed)
        found = rl.plan.train("llama-3.1-8b", executor=pool, **search)
        assert workers_of(pool) == 2, workers_of(pool)
        one = rl.plan.train("llama-3.1-8b", **search)
        mine, its = found.to_dict(), one.to_dict()
        assert mine.pop("search_s") > 0 and its.pop("search_s") > 0
        assert mine == its
        dims = dict(B=np.arange(1, 300_001), D=8192, F=8192)
        ask = lambda **more: rl.op("{matmul}", on="h100-sxm", dims=dims, **more).to_pandas()
        assert ask(executor=pool).equals(ask())
    try:
        rl.plan.train("llama-3.1-8b", executor=pool, **search)
    except rl.Error as error:
        assert error.code == "bad_executor" and error.hint, error
        print("same")
"""


def test_mpi(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "search.py"
    script.write_text(MPI.format(search=SEARCH, matmul=MATMUL))
    done = mpi(script)
    assert done.stdout == "same\n" and done.returncode == 0, done.stdout + done.stderr


def test_mpi_with_a_killed_worker(tmp_path: pathlib.Path) -> None:
    """MPI itself ends all processes when one is killed, so nothing is left that could answer; but it does end."""
    script = tmp_path / "search.py"
    script.write_text(MPI.format(search=SEARCH, matmul=MATMUL))
    done = mpi(script, "kill")
    assert done.returncode != 0 and "signal 9" in done.stdout + done.stderr


def guide_block(word: str) -> str:
    """The example of the guide that has a word. These examples need packages that the gate does not have."""
    blocks = re.findall(r"^```py\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    (found,) = (block for block in blocks if word in block)
    return str(found)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    module = pytest.importorskip("ray")
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    module.init(num_cpus=2, include_dashboard=False, log_to_driver=False,
                runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}})  # fmt: skip
    yield module
    module.shutdown()


def test_ray(ray: Any, whole: dict[str, Any]) -> None:
    names: dict[str, Any] = {}
    exec(guide_block("ray.remote"), names)
    executor = names["RayExecutor"]()
    assert untimed(rl.plan.train("llama-3.1-8b", executor=executor, parts=4, **SEARCH)) == whole
    check_sweep(executor)


@pytest.mark.parametrize("retries", [0, 3])
def test_ray_with_a_killed_worker(ray: Any, whole: dict[str, Any], retries: int, tmp_path: pathlib.Path) -> None:
    names: dict[str, Any] = {}
    exec(guide_block("ray.remote").replace("ray.remote(fn)", f"ray.remote(max_retries={retries})(fn)"), names)
    told = check_killed(names["RayExecutor"](), tmp_path / "killed", whole)
    assert bool(told) == (retries == 0), told
    assert all("1 of 4 parts were lost with their workers (WorkerCrashedError" in each for each in told)


def test_examples_of_dask(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("distributed")
    script = tmp_path / "guide.py"
    block = guide_block("LocalCluster")
    script.write_text("if __name__ == '__main__':\n" + "\n".join("    " + line for line in block.split("\n")))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "fsdp" in done.stdout or "data" in done.stdout
