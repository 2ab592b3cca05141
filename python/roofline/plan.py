"""Searches: the best plan, the best servers, the best machine.

Written by scripts/python_signatures.py from the options of the command line; do not edit.
"""

# ruff: noqa: A001, A002
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from ._answers import PlanAnswer
from ._ask import ask, ask_parts, question
from ._types import Machine, Machines, Model, Pairs, Text, Value, Workers

__all__ = ["design", "fleet", "merge", "serve", "train"]


@question
def train(
    model: Model,
    *,
    on: Machines | None = None,
    chips: Value | None = None,
    batch_tokens: Value | None = None,
    seq: Value | None = None,
    objective: Literal["time", "cost", "energy", "chips", "memory"] | None = None,
    front: Value | None = None,
    days: Value | None = None,
    usd: Value | None = None,
    power: Value | None = None,
    mesh: Pairs | None = None,
    without: Pairs | None = None,
    zero: Value | None = None,
    microbatches: Value | None = None,
    schedule: Value | None = None,
    remat: Value | None = None,
    lora: Value | None = None,
    lora_on: Value | None = None,
    frozen_dtype: Literal["fp8", "int8", "nvfp4", "int4"] | None = None,
    optimizer: Value | None = None,
    framework: Value | None = None,
    products: Value | None = None,
    dispatch: Literal["fp8", "mxfp8", "nvfp4"] | None = None,
    overlap: Value | None = None,
    tokens: Value | None = None,
    storage: Value | None = None,
    failures: Value | None = None,
    restart: Value | None = None,
    async_checkpoints: bool = False,
    price: Value | None = None,
    set: Pairs | None = None,
    software: Value | None = None,
    threads: Value | None = None,
    calibration: Pairs | None = None,
    textbook: bool = False,
    sweep: Pairs | None = None,
    plans: Value | None = None,
    limit: Value | None = None,
    part: Value | None = None,
    leading: Value | None = None,
    output: Value | None = None,
    emit: Literal["megatron", "torchtitan", "maxtext", "deepspeed"] | None = None,
    executor: Workers | None = None,
    parts: int | None = None,
) -> PlanAnswer:
    """The best way to train a model on a slice, and why the others lose.

    `model` is a name, the path of a config.json, its text, a dict, a configuration of transformers, or the answer
    of `model()`.

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        model: A configuration (config.json of a checkpoint), or a name (CONFIG.json|NAME).
        on: Slice: tpu-v5p:8x8x16, h100-sxm:8x16, my.toml:4x4; repeat to search several; without a size as `chips`
            says (SLICE).
        chips: Numbers of chips of machines without a size; no slice may have more than the largest (N|256..4096*2).
        batch_tokens: Tokens per step of all chips together, or a range that is searched (4Mi|1Mi..16Mi*2).
        seq: Sequence length in tokens; default: 8192, or the context of the configuration if it is shorter
            (TOKENS).
        objective: What is to be least; default: time, or the first objective of `front`. Cost is that of chips per
            hour, energy that at their rated power, memory that of the fullest chip (time|cost|energy|chips|memory).
        front: Also the plans that no other one beats in both of two objectives (time,cost).
        days: Limit: calendar days of the run, with interruptions if `storage` is given (DAYS).
        usd: Limit: cost of the run (5M).
        power: Limit: rated power of all chips (10MW).
        mesh: Degrees of parallelism that are fixed; all others are searched. Axes: data, fsdp, tensor, sequence,
            context, expert, pipeline (tensor=8).
        without: Axes that are not used (pipeline,context).
        zero: Fix the ZeRO stage over replicas: 1 shards optimizer states, 2 also gradients (0|1|2).
        microbatches: Fix the number of microbatches per step (N).
        schedule: Fix the pipeline schedule: 1f1b, gpipe, interleaved:N (N chunks per stage) or zero-bubble
            (SCHEDULE).
        remat: Fix the recomputation: none, selective (all but matmul results), alternate, full (whole layers), or
            names of tensors that are kept; default: none, selective and full are searched
            (none|selective|alternate|full|Hm,O).
        lora: Rank of low-rank adapters (LoRA): they are trained, everything else is frozen (RANK).
        lora_on: Projections with adapters by their names in a checkpoint: q,v is q_proj,v_proj; q+k+v have one
            first factor; attention, all-linear; default: attention (q+k+v,o|all-linear).
        frozen_dtype: Dtype in which frozen matrices are stored (QLoRA); they are converted where they are used
            (fp8|int8|nvfp4|int4).
        optimizer: Adam with moments in f32 or another dtype and, if given, an f32 master copy of the parameters;
            unfused adds the intermediate results of unfused tensor operations; or sgd; gradients=f32 for either;
            several, each beginning with its name, are searched: adam,adam,moments=bf16
            (adam[,moments=DTYPE][,master][,unfused]|sgd|adam,adam,..).
        framework: Training framework, with or without a version, whose kernels, overlap, loss and memory are
            assumed where no option says otherwise; or a file that describes one; default: times as of the usual one
            of the machine, memory of tensors alone (megatron-lm|nemo-25.09|torchtitan|maxtext|..|FILE.toml).
        products: Dtypes of matmuls with parameters, forward and backward, each of which is searched; bf16: as
            tensors are stored (fp8|bf16,fp8,nvfp4).
        dispatch: Dtype below 16 bits in which tokens, and their gradients in the backward pass, are sent to experts
            (fp8|mxfp8|nvfp4).
        overlap: Axes whose collectives overlap with matmuls of other microbatches or layers (DualPipe: expert);
            those over data and fsdp always do; default: what the framework overlaps (expert,tensor|none).
        tokens: Tokens of the whole training run, for its duration and cost (15T).
        storage: Bandwidth at which all chips together write checkpoints; with `tokens` for goodput, calendar days
            and cost with interruptions (2TB/s).
        failures: Interruptions per 1,000 chip-days, or with a unit (/chip-hour, /chip-day, /chip-year); default:
            published rate of the machine (RATE).
        restart: Time from an interruption until training goes on; default: 10min (arXiv 2402.15627) (10min).
        async_checkpoints: Training goes on while a checkpoint is written.
        price: Price of a chip in USD per hour; default: list price of the machine (USD).
        set: What if: replace a figure of the machine, absolute or relative (hbm.bandwidth=3TB/s|*2).
        software: Library, with or without version, whose measurements expected times are based on (nccl-2.29).
        threads: Threads that search for a plan; default: as many as cores (N).
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).
        textbook: Textbook approximation of collectives: every torus axis is a wrapped ring, without the factor
            (n-1)/n.
        sweep: Sweep a figure of `set`, or batch-tokens or seq, and find where the best plan and the bottleneck
            change; given twice, a grid (hbm.bandwidth=2TB/s..16TB/s*1.5).
        plans: Number of plans with different degrees to show; default: 8 (N).
        limit: Search at most so many plans, spread over the whole space (N).
        part: Search only this one of so many equal parts, or what all need before (`leading`); `roofline plan
            --merge` makes the answer of all (3/64|leading).
        leading: File of `part` leading, which `part` N/M need not search again then (FILE.json).
        output: File for the result of `part`; default: standard output (FILE.json).
        emit: Print only the flags or the configuration that start the plan in this framework, with what they do not
            express as comments; in JSON the key `emitted` (megatron|torchtitan|maxtext|deepspeed).
        executor: A search is divided into parts, each of which lays out the plans of other axes. It may be any
            executor of concurrent.futures, of processes, Dask, MPI or others, or a client of dask.distributed; the
            answer is that of one process. What a lost worker leaves is done again, with a RuntimeWarning; an
            interrupt cancels what is pending (docs/guide/python.md).
        parts: Number of parts for `executor`; default: 4 for each worker, at most one for each set of axes.

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; an executor that is closed; with
            place and remedy.
    """
    return cast(PlanAnswer, ask_parts("plan train", locals(), PlanAnswer))


@question
def serve(
    model: Model,
    *,
    on: Machines | None = None,
    prompt: Value | None = None,
    output: Value | None = None,
    cached: Value | None = None,
    objective: Literal["throughput", "cost", "chips"] | None = None,
    ttft: Value | None = None,
    tpot: Value | None = None,
    percentile: Value | None = None,
    rate: Value | None = None,
    chips: Value | None = None,
    mesh: Pairs | None = None,
    without: Pairs | None = None,
    aggregated: bool = False,
    disaggregated: bool = False,
    prefill: Machine | None = None,
    prefill_mesh: Pairs | None = None,
    overlap_transfer: bool = False,
    weights: Value | None = None,
    kv_dtype: Value | None = None,
    chunk: Value | None = None,
    memory_fraction: Value | None = None,
    exchange: Value | None = None,
    price: Value | None = None,
    set: Pairs | None = None,
    sweep: Pairs | None = None,
    software: Value | None = None,
    calibration: Pairs | None = None,
    plans: Value | None = None,
    threads: Value | None = None,
    emit: Literal["vllm", "sglang", "trtllm"] | None = None,
) -> PlanAnswer:
    """The best set-up of servers for a model, and what it costs.

    `model` is a name, the path of a config.json, its text, a dict, a configuration of transformers, or the answer
    of `model()`.

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        model: A configuration (config.json of a checkpoint), or a name (CONFIG.json|NAME).
        on: All chips that may be used, such as h200:8x2; servers use them or a part of them; repeat for machines
            side by side (SLICE).
        prompt: Prompt tokens per request; default 1024. uniform:A..B and lognormal:MEAN,SIGMA are distributions
            (TOKENS).
        output: Output tokens per request, likewise; default 256 (TOKENS).
        cached: Part of each prompt that is in a prefix cache: 0.8, 80% or 600 tokens (FRACTION|TOKENS).
        objective: Most output tokens/s per chip (throughput, the default), fewest USD per million output tokens
            (cost), or fewest chips that carry `rate` (chips) (throughput|cost|chips).
        ttft: Target of TTFT, waiting included (500ms).
        tpot: Target of TPOT (30ms).
        percentile: What must meet the targets; default: the 99th percentile (99|90|50|mean).
        rate: Requests/s of all servers together, for --for chips (REQUESTS/S).
        chips: Chips of machines without a size (N).
        mesh: Degrees of parallelism that are fixed; all others are searched. Axes: data, tensor, expert, pipeline
            (tensor=8).
        without: Axes that are not used (pipeline).
        aggregated: Only servers that prefill and decode.
        disaggregated: Only servers that either prefill or decode; default: both kinds are searched.
        prefill: Chips for prefill beside those of `on`, of any machine (SLICE).
        prefill_mesh: Likewise degrees of servers that only prefill (tensor=8).
        overlap_transfer: Send KV caches to decode layer by layer during prefill, and not after it.
        weights: Dtypes of all parameters, each of which is searched (DTYPE[,DTYPE..]).
        kv_dtype: Dtypes of the KV cache, likewise (DTYPE[,DTYPE..]).
        chunk: Tokens per chunk of a long prompt, likewise; default 8192 (TOKENS[,TOKENS..]).
        memory_fraction: Part of a chip's memory that the server uses; default: that of its software (FRACTION).
        exchange: Kernels by which tokens get to experts on other chips; default: those of the server (KERNELS).
        price: USD per chip-hour (USD).
        set: What if: replace a figure of the machine, absolute or relative (hbm.bandwidth=3TB/s|*2).
        sweep: Sweep a figure of `set`, or prompt or output, and find where the best plan and the bottleneck change;
            given twice, a grid (hbm.bandwidth=2TB/s..16TB/s*1.5).
        software: Server or library whose measurements expected times are based on (vllm).
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).
        plans: Number of set-ups with different servers to show; default: 6 (N).
        threads: Threads that search; default: as many as cores (N).
        emit: Print only the flags or the configuration that start the plan in this framework, with what they do not
            express as comments; in JSON the key `emitted` (vllm|sglang|trtllm).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(PlanAnswer, ask("plan serve", locals(), PlanAnswer))


@question
def fleet(
    file: Text,
    *,
    calibration: Pairs | None = None,
    threads: Value | None = None,
) -> PlanAnswer:
    """Which job of a fleet runs on which chips, for the least cost.

    Args:
        file: Pools of chips and the jobs that run on them (FLEET.toml).
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).
        threads: Threads of the searches; default: as many as cores (N).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(PlanAnswer, ask("plan fleet", locals(), PlanAnswer))


@question
def design(
    *,
    base: Machine,
    vary: Pairs,
    cost: Value,
    workloads: Value,
    steps: Value | None = None,
    front: Value | None = None,
    set: Pairs | None = None,
    software: Value | None = None,
    threads: Value | None = None,
    calibration: Pairs | None = None,
) -> PlanAnswer:
    """The cheapest machine that meets targets for several workloads.

    Args:
        base: Machine whose figures are varied: a name or a machine file (MACHINE).
        vary: Figures and their values: bandwidths, capacities, rates of units; a range without increment has
            `steps` values (hbm.bandwidth=2..8TB/s,hbm.capacity=64..288GiB*1.5).
        steps: Values of a range without an increment, ends included; default: 8 (N).
        cost: What a chip costs, by figure (FILE.toml).
        workloads: Operations, training jobs and served models, with weights and targets (FILE.toml).
        front: Machines of the front of cost against time; 0: none; default: 8 (N).
        set: What if: replace a figure of the base machine that is not varied (power=700W|*2).
        software: Library whose measurements expected times are based on (nccl-2.29).
        threads: Threads that predict; default: as many as cores (N).
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(PlanAnswer, ask("plan design", locals(), PlanAnswer))


@question
def merge(
    merge: Sequence[Text],
) -> PlanAnswer:
    """The answer of a search whose parts were searched apart.

    Args:
        merge: Files that `roofline plan train --part` wrote: all parts of a search (FILE.json).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(PlanAnswer, ask("plan", locals(), PlanAnswer))
