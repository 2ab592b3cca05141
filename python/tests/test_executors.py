"""Questions over executors answer as one process does, whatever happens to the workers.

The executors here are those of the standard library; python/tests/all has Dask, MPI and Ray."""

import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import roofline as rl

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
CAUSAL = "softmax[S](causal[T,S](bf16[B, T, H] * bf16[B, S, H])) -> bf16[B, T, S]"
SIZES = {"D": 8192, "F": 8192}
# 85 plans, 30 of them beside the leading sets of axes
SEARCH: dict[str, Any] = {"on": "h100-sxm:8", "batch_tokens": "256Ki", "seq": 4096, "remat": "full",
                          "microbatches": 1, "without": "sequence"}  # fmt: skip


def processes(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def untimed(answer: rl.Answer) -> dict[str, Any]:
    """The answer without the seconds that its search took."""
    values = answer.to_dict()
    assert values.pop("search_s") > 0
    return values


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return untimed(rl.plan.train("llama-3.1-8b", **SEARCH))


@pytest.mark.parametrize("parts", [None, 1, 7])
def test_a_search_over_threads(threads: Executor, whole: dict[str, Any], parts: int | None) -> None:
    found = rl.plan.train("llama-3.1-8b", executor=threads, parts=parts, **SEARCH)
    assert untimed(found) == whole and found.ok
    assert found.to_csv() == rl.plan.train("llama-3.1-8b", **SEARCH).to_csv()


def test_a_search_over_processes(whole: dict[str, Any], tmp_path: pathlib.Path) -> None:
    # what the workers need not have: a file of this process, named as it sees it
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
                                  "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
                                  "vocab_size": 128256, "max_position_embeddings": 131072,
                                  "tie_word_embeddings": False}))  # fmt: skip
    own = untimed(rl.plan.train(config, **SEARCH))
    with processes(2) as pool:
        pool.submit(os.getpid).result()
        text = config.read_text()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert untimed(rl.plan.train("llama-3.1-8b", executor=pool, **SEARCH)) == whole
            found = rl.plan.train(config, executor=Removing(pool, config), **SEARCH)
        config.write_text(text)
    assert untimed(found) == own


class Removing(Executor):
    """Removes a file before it hands out work."""

    def __init__(self, pool: Executor, file: pathlib.Path) -> None:
        self.pool, self.file, self._max_workers = pool, file, 2

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if args:
            self.file.unlink(missing_ok=True)
        return self.pool.submit(fn, *args, **kwargs)


def test_nothing_fits(threads: Executor) -> None:
    small = {**SEARCH, "without": ["sequence", "context", "pipeline"]}
    one = rl.plan.train("llama-3.1-70b", **small)
    found = rl.plan.train("llama-3.1-70b", executor=threads, **small)
    assert not one.ok and found.status == one.status and untimed(found) == untimed(one)


class Killing(Executor):
    """Kills a worker of a pool of processes as soon as it has a part."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self.pool, self._max_workers, self.parts = pool, 2, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = self.pool.submit(fn, *args, **kwargs)
        self.parts += bool(args)
        if self.parts == 2:
            os.kill(next(iter(self.pool._processes)), signal.SIGKILL)
            self.parts += 1
        return future


def test_a_killed_process(whole: dict[str, Any]) -> None:
    with processes(2) as pool, pytest.warns(RuntimeWarning, match=r"of 8 parts .* by this process") as caught:
        found = rl.plan.train("llama-3.1-8b", executor=Killing(pool), parts=8, **SEARCH)
    assert untimed(found) == whole
    assert [each.filename for each in caught] == [__file__]


class Losing(Executor):
    """Loses the first futures, or all, as a cluster does whose workers are killed."""

    def __init__(self, lost: int, problem: Exception) -> None:
        self.lost, self.problem, self.asked = lost, problem, 0
        self.num_workers = 2

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.asked += bool(args)
        if args and self.asked <= self.lost:
            future.set_exception(self.problem)
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_lost_parts_are_handed_out_again(whole: dict[str, Any]) -> None:
    losing = Losing(2, RuntimeError("the worker is gone"))
    message = r"2 of 4 parts were lost with their workers \(RuntimeError: the worker is gone\) .* 2 by other workers$"
    with pytest.warns(RuntimeWarning, match=message):
        assert untimed(rl.plan.train("llama-3.1-8b", executor=losing, parts=4, **SEARCH)) == whole
    assert losing.asked == 4 + 2
    with pytest.warns(RuntimeWarning, match="3 of 3 parts .* 3 by this process$"):
        lost = Losing(1000, RuntimeError())
        assert untimed(rl.plan.train("llama-3.1-8b", executor=lost, parts=3, **SEARCH)) == whole
    assert lost.asked == 3 + 3


def refused(executor: Any, **more: Any) -> rl.Error:
    with pytest.raises(rl.Error) as caught:
        rl.plan.train("llama-3.1-8b", **{**SEARCH, **more}, executor=executor)
    return caught.value


def test_a_closed_executor() -> None:
    for pool in (ThreadPoolExecutor(1), ProcessPoolExecutor(1)):
        pool.shutdown()
        error = refused(pool)
        assert error.code == "bad_executor" and "after shutdown" in error.message
        assert error.hint.startswith("make a new executor")
        assert error.place is not None and error.place.text.startswith("executor=<concurrent.futures.")
        with pytest.raises(rl.Error, match="after shutdown"):
            rl.op(MATMUL, on="h200", dims={"B": [1, 2], **SIZES}, executor=pool)


def test_an_executor_that_is_closed_meanwhile() -> None:
    class Closing(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn, *args, **kwargs)
            if args:
                self.shutdown(wait=False, cancel_futures=True)
            return future

    assert "after shutdown" in refused(Closing(1), parts=4).message


def test_no_executor() -> None:
    error = refused(5)
    assert error.message == "`executor` is of the class int" and error.place is not None
    assert refused(ProcessPoolExecutor).code == "bad_executor"
    for name in ("part", "output", "emit", "sweep"):
        assert f"`{name}` is given" in refused(ThreadPoolExecutor(1), **{name: "x"}).message
    for parts in (0, -1, 1.5, True, "3"):
        assert refused(ThreadPoolExecutor(1), parts=parts).message.startswith("`parts` is ")
    with pytest.raises(rl.Error, match="no executor"):
        rl.plan.train("llama-3.1-8b", parts=3, **SEARCH)
    with pytest.raises(rl.Error, match="no size in `dims` is an array"):
        rl.op(MATMUL, on="h200", dims={"B": 1, **SIZES}, executor=ThreadPoolExecutor(1))


def test_questions_that_have_no_parts(threads: Executor) -> None:
    """They are refused as those of the command line in parts."""
    for more in ({"objective": "cost"}, {"batch_tokens": "64Ki..128Ki*2"}, {"on": ["h100-sxm:8", "h200:8"]}):
        error = refused(threads, **more)
        assert error.code == "bad_request" and "a search in parts" in error.message, error
    assert refused(threads, on="h100-sxn:8").hint == "did you mean `h100-sxm`?"


def test_questions_that_take_no_executor(threads: Executor) -> None:
    asks: list[Any] = [rl.plan.serve, rl.plan.design, rl.plan.fleet, rl.train, rl.validate]
    for ask in asks:
        with pytest.raises(rl.Error, match="has no parts that an executor could take") as caught:
            ask("x", executor=threads)
        assert caught.value.hint.startswith("plan.train() has")


def test_workers_without_the_package() -> None:
    error = refused(Losing(1000, ModuleNotFoundError("No module named 'roofline'")))
    assert error.code == "bad_executor"  # of the parts; the first question has no arguments
    assert error.hint == f"install roofline {rl.__version__} where the workers run"


@pytest.mark.parametrize("text", [MATMUL, CAUSAL, "bf16[B, D] * bf16[D, F] * bf16[F, G] -> bf16[B, G]"])
@pytest.mark.parametrize("parts", [None, 1, 3, 64])
def test_a_sweep_is_that_of_one_call(threads: Executor, text: str, parts: int | None) -> None:
    rng = np.random.default_rng(7)
    dims = {"B": rng.integers(1, 4096, (5, 8)), **{dim: rng.integers(1, 4096, 8) for dim in "DFGTSH" if dim in text}}
    one = rl.op(text, on="h100-sxm", dims=dims)
    same_sweep(rl.op(text, on="h100-sxm", dims=dims, executor=threads, parts=parts), one)


def same_sweep(found: rl.Sweep, one: rl.Sweep) -> None:
    assert found.shape == one.shape and found.machine == one.machine and list(found) == list(one)
    mine, its = found.to_pandas(), one.to_pandas()
    assert mine.columns.tolist() == its.columns.tolist()
    for name in its.columns:
        np.testing.assert_array_equal(mine[name].to_numpy(), its[name].to_numpy(), err_msg=name)
    for dim in one.dims:
        assert found.dims[dim].tolist() == one.dims[dim].tolist()


def test_a_sweep_over_processes() -> None:
    sizes = np.arange(1, 200_001)
    one = rl.op(MATMUL, on="h100-sxm", dims={"B": sizes, **SIZES})
    with processes(2) as pool:
        same_sweep(rl.op(MATMUL, on="h100-sxm", dims={"B": sizes, **SIZES}, executor=pool, parts=4), one)
    few = rl.op(MATMUL, on="h100-sxm", dims={"B": [1, 2], **SIZES}, executor=Losing(0, OSError()))
    assert few.to_json() == rl.op(MATMUL, on="h100-sxm", dims={"B": [1, 2], **SIZES}).to_json()


def test_sweeps_that_are_not_divided(threads: Executor) -> None:
    sharded = "bf16[B, D] * bf16[D, F_X] -> bf16[B, F]"
    with pytest.raises(rl.Error, match="layouts .* for all sizes together") as caught:
        rl.op(sharded, on="tpu-v5e:2x2", mesh={"X": 4}, dims={"B": [1, 2], **SIZES}, executor=threads)
    assert caught.value.hint
    with pytest.raises(rl.Error, match="is -1"):
        rl.op(MATMUL, on="h200", dims={"B": [1, 2, -1], **SIZES}, executor=threads)


@pytest.mark.parametrize("kind", ["ThreadPoolExecutor", "ProcessPoolExecutor"])
def test_interrupt(kind: str, tmp_path: pathlib.Path) -> None:
    """An interrupt ends a search of minutes, leaves nothing running, and nothing crashes."""
    script = tmp_path / "search.py"
    script.write_text(textwrap.dedent(f"""
        import concurrent.futures, time
        import roofline as rl

        class Telling(concurrent.futures.{kind}):
            def submit(self, fn, /, *args, **kwargs):
                future = super().submit(fn, *args, **kwargs)
                if args:
                    print("searching", flush=True)
                return future

        if __name__ == "__main__":
            pool = Telling(2)
            try:
                rl.plan.train("llama-3.1-8b", on="h100-sxm:8x16", batch_tokens="4Mi", executor=pool, parts=4)
            except KeyboardInterrupt:
                began = time.time()
                pool.shutdown()
                print("interrupted", time.time() - began, flush=True)
        """))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-X", "faulthandler", script], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=env, start_new_session=True)  # fmt: skip
    assert child.stdout is not None
    assert [child.stdout.readline() for _ in range(4)] == 4 * ["searching\n"]
    time.sleep(1)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does
    out, err = child.communicate(timeout=60)
    word, _, seconds = out.partition(" ")
    assert word == "interrupted" and child.returncode == 0, err
    assert float(seconds) < 3  # a part takes more than 5 s of processor time
    assert "Fatal" not in err
