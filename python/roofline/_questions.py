"""Questions and their arguments.

Written by scripts/python_signatures.py from the options of the command line; do not edit.
"""

# ruff: noqa: A001, A002
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast, overload

from ._answers import (
    FitAnswer,
    HloAnswer,
    MachineAnswer,
    ModelAnswer,
    OpAnswer,
    ServeAnswer,
    TraceAnswer,
    TrainAnswer,
    ValidateAnswer,
)
from ._ask import ask, ask_op, question
from ._sweep import Sweep
from ._types import Array, Machine, Machines, Model, Pairs, SizeLike, Sizes, Table, Text, Value, Workers

__all__ = ["fit", "hlo", "machine", "model", "op", "serve", "trace", "train", "validate"]


@overload
def op(  # type: ignore[overload-overlap]
    program: Text,
    *,
    on: Machines,
    dims: Sizes | None = None,
    mesh: Pairs | None = None,
    set: Pairs | None = None,
    sweep: Pairs | None = None,
    tile: Pairs | None = None,
    expert_groups: Value | None = None,
    software: Value | None = None,
    calibration: Pairs | None = None,
    textbook: bool = False,
    exact_flops: bool = False,
    executor: Workers | None = None,
    parts: int | None = None,
) -> OpAnswer: ...
@overload
def op(
    program: Text,
    *,
    on: Machines,
    dims: Mapping[str, SizeLike | Array],
    mesh: Pairs | None = None,
    set: Pairs | None = None,
    sweep: Pairs | None = None,
    tile: Pairs | None = None,
    expert_groups: Value | None = None,
    software: Value | None = None,
    calibration: Pairs | None = None,
    textbook: bool = False,
    exact_flops: bool = False,
    executor: Workers | None = None,
    parts: int | None = None,
) -> Sweep: ...
@question
def op(
    program: Text,
    *,
    on: Machines,
    dims: Sizes | Mapping[str, SizeLike | Array] | None = None,
    mesh: Pairs | None = None,
    set: Pairs | None = None,
    sweep: Pairs | None = None,
    tile: Pairs | None = None,
    expert_groups: Value | None = None,
    software: Value | None = None,
    calibration: Pairs | None = None,
    textbook: bool = False,
    exact_flops: bool = False,
    executor: Workers | None = None,
    parts: int | None = None,
) -> OpAnswer | Sweep:
    """Work, bounds and expected time of an operation or a program.

    The answer is an OpAnswer; if a size in `dims` is an array or a list of sizes, a Sweep with an array for each
    figure: sizes are broadcast against one another, and each dimension needs one.

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        program: The operation in the notation, a .roof file (PROGRAM|FILE.roof).
        on: Machine: a name (see `roofline machine`), a slice such as tpu-v5e:4x4 or h100-sxm:8x4, or a machine
            file; repeat for one column per machine (MACHINE).
        dims: Sizes of dimensions; they override those in the text; k is 1000, Ki 1024 (B=256,D=8k).
        mesh: Sizes of mesh axes; their product is the number of chips of the slice. `X=4 on ici.1` places an axis
            (X=4,Y=4).
        set: What if: replace a figure of the machine, absolute or relative (hbm.bandwidth=3TB/s|*2).
        sweep: Sizes to sweep; given twice, a grid; D=F=... keeps sizes equal. Or any figure of `set`:
            hbm.bandwidth=2TB/s..16TB/s*1.5 (B=1..4096*2).
        tile: Tile sizes in the on-chip level next to main memory, or in the named level; best: search for them
            ([LEVEL:]B=128,F=256|best).
        expert_groups: Node-limited routing: number of expert groups per token / number of groups (4/8).
        software: Library, with or without version, whose measurements expected times are based on; default: the
            newest (nccl-2.29).
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).
        textbook: Textbook approximation of collectives: every torus axis is a wrapped ring, without the factor
            (n-1)/n.
        exact_flops: Count BF(2D-1) instead of 2BDF FLOPs for a sum of D products.
        executor: A sweep over arrays of sizes is divided into points that follow one another. It may be any
            executor of concurrent.futures, of processes, Dask, MPI or others, or a client of dask.distributed; the
            answer is that of one process. What a lost worker leaves is done again, with a RuntimeWarning; an
            interrupt cancels what is pending (docs/guide/python.md).
        parts: Number of parts for `executor`; default: such that a part takes a tenth of a second or more, at most
            4 for each worker.

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; an executor that is closed; with
            place and remedy.
    """
    return ask_op(locals())


@question
def machine(
    names: Machines = (),
    *,
    set: Pairs | None = None,
    ert: Value | None = None,
    rocprof: Value | None = None,
) -> MachineAnswer:
    """Machines: all of them, one with every figure and its source, or several side by side.

    Without names the answer lists all machines in `machines`.

    Args:
        names: Names or machine files; without any, all machines are listed (NAME).
        set: What if: replace a figure of the machine, absolute or relative (hbm.bandwidth=3TB/s|*2).
        ert: Write the one machine as the Empirical Roofline Toolkit's roofline.json (FILE).
        rocprof: Write the one machine as rocprof-compute's roofline.csv (FILE).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(MachineAnswer, ask("machine", locals(), MachineAnswer))


@question
def model(
    model: Model | None = None,
    *,
    seq: Value | None = None,
    kv_dtype: Value | None = None,
    weights: Value | None = None,
    quantisation: Text | Mapping[str, Any] | None = None,
) -> ModelAnswer:
    """Parameters, FLOPs and memory of a model.

    `model` is a name, the path of a config.json, its text, a dict, a configuration of transformers, or the answer
    of `model()`.

    Args:
        model: A configuration (config.json of a checkpoint), a name, or files of weights: .safetensors, their
            .index.json, .gguf (CONFIG.json|NAME|WEIGHTS).
        seq: Sequence length in tokens; default: the context of the configuration (TOKENS).
        kv_dtype: Dtype of the KV cache; default bf16 (DTYPE).
        weights: Dtype of all parameters, or a file type of llama.cpp, such as Q4_K_M; default: as stored in the
            checkpoint (DTYPE|FILETYPE).
        quantisation: Quantization configuration, if it is in a separate file (hf_quant_config.json).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(ModelAnswer, ask("model", locals(), ModelAnswer))


@question
def train(
    model: Model,
    *,
    on: Machines,
    batch_tokens: Value | None = None,
    seq: Value | None = None,
    mesh: Pairs | None = None,
    zero: Value | None = None,
    microbatches: Value | None = None,
    schedule: Value | None = None,
    remat: Value | None = None,
    lora: Value | None = None,
    lora_on: Value | None = None,
    frozen_dtype: Literal["fp8", "int8", "nvfp4", "int4"] | None = None,
    optimizer: Value | None = None,
    framework: Value | None = None,
    products: Literal["fp8", "mxfp8", "nvfp4"] | None = None,
    dispatch: Literal["fp8", "mxfp8", "nvfp4"] | None = None,
    overlap: Value | None = None,
    mfu: Value | None = None,
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
    plan_from: Value | None = None,
    emit: Literal["megatron", "torchtitan", "maxtext", "deepspeed"] | None = None,
) -> TrainAnswer:
    """Step time, memory and cost of training a model on a slice.

    `model` is a name, the path of a config.json, its text, a dict, a configuration of transformers, or the answer
    of `model()`.

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        model: A configuration (config.json of a checkpoint), or a name (CONFIG.json|NAME).
        on: Slice: tpu-v5p:8x8x16, h100-sxm:8x16, my.toml:4x4; repeat for one column per slice (SLICE).
        batch_tokens: Tokens per step of all chips together; k is 1000, Ki 1024 (TOKENS).
        seq: Sequence length in tokens; default: 8192, or the context of the configuration if it is shorter
            (TOKENS).
        mesh: Degrees of parallelism; their product is the number of chips of the slice. Axes: data, fsdp, tensor,
            sequence, context, expert, pipeline; default: the fastest plan that fits is searched, where `zero`,
            `microbatches`, `schedule` and `remat` fix what they say (fsdp=16,tensor=8).
        zero: ZeRO stage over the data axis: 1 shards optimizer states, 2 also gradients, 3 also parameters, as fsdp
            does; 3 needs `mesh`, because a search has fsdp for it (1|2|3).
        microbatches: Number of microbatches per step; with `mesh` by default 1 (N).
        schedule: Pipeline schedule: 1f1b, gpipe, interleaved (interleaved:4 for 4 chunks per stage) or zero-bubble
            (SCHEDULE).
        remat: Recomputation in the backward pass: none, selective (all but matmul results), alternate (also every
            second matmul result), full (whole layers), or names of tensors that are kept
            (none|selective|alternate|full|Hm,O).
        lora: Rank of low-rank adapters (LoRA): they are trained, everything else is frozen (RANK).
        lora_on: Projections with adapters by their names in a checkpoint: q,v is q_proj,v_proj; q+k+v have one
            first factor; attention, all-linear; default: attention (q+k+v,o|all-linear).
        frozen_dtype: Dtype in which frozen matrices are stored (QLoRA); they are converted where they are used
            (fp8|int8|nvfp4|int4).
        optimizer: Adam with moments in f32 or another dtype and, if given, an f32 master copy of the parameters;
            unfused adds the intermediate results of unfused tensor operations; or sgd; gradients=f32 for either
            (adam[,moments=DTYPE][,master][,unfused]|sgd).
        framework: Training framework, with or without a version, whose kernels, overlap, loss and memory are
            assumed where no option says otherwise; or a file that describes one; default: times as of the usual one
            of the machine, memory of tensors alone (megatron-lm|nemo-25.09|torchtitan|maxtext|..|FILE.toml).
        products: Dtype below 16 bits for matmuls with parameters, forward and backward; tensors are stored in bf16
            (fp8|mxfp8|nvfp4).
        dispatch: Dtype below 16 bits in which tokens, and their gradients in the backward pass, are sent to experts
            (fp8|mxfp8|nvfp4).
        overlap: Axes whose collectives overlap with matmuls of other microbatches or layers (DualPipe: expert);
            those over data and fsdp always do; default: what the framework overlaps (expert,tensor|none).
        mfu: Assumed fraction of peak FLOP/s instead of a prediction: 0.4 or 40% (FRACTION).
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
        sweep: Sweep a figure of `set`, or batch-tokens, seq or microbatches, and find where the best plan and the
            bottleneck change; given twice, a grid (hbm.bandwidth=2TB/s..16TB/s*1.5).
        plan_from: Take the plan from the flags or the configuration that start a framework; its name may stand
            before the file, megatron:run.sh; options that are given, too, must agree ([FRAMEWORK:]FILE).
        emit: Print only the flags or the configuration that start the plan in this framework, with what they do not
            express as comments; in JSON the key `emitted` (megatron|torchtitan|maxtext|deepspeed).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(TrainAnswer, ask("train", locals(), TrainAnswer))


@question
def serve(
    model: Model,
    *,
    on: Machines,
    prompt: Value | None = None,
    output: Value | None = None,
    batch: Value | None = None,
    chunk: Value | None = None,
    memory_fraction: Value | None = None,
    block: Value | None = None,
    draft: Value | None = None,
    acceptance: Value | None = None,
    draft_model: Model | None = None,
    concurrency: Value | None = None,
    rate: Value | None = None,
    lengths: Table | None = None,
    cached: Value | None = None,
    ttft: Value | None = None,
    tpot: Value | None = None,
    schedule: Literal["mixed", "prefill-first"] | None = None,
    two_batch_overlap: bool = False,
    balancedness: Value | None = None,
    routing: Value | None = None,
    redundant_experts: Value | None = None,
    requests: Value | None = None,
    weights: Value | None = None,
    kv_dtype: Value | None = None,
    mesh: Pairs | None = None,
    disaggregated: bool = False,
    prefill: Machine | None = None,
    prefill_mesh: Pairs | None = None,
    prefill_workers: Value | None = None,
    decode_workers: Value | None = None,
    overlap_transfer: bool = False,
    exchange: Value | None = None,
    price: Value | None = None,
    set: Pairs | None = None,
    sweep: Pairs | None = None,
    software: Value | None = None,
    calibration: Pairs | None = None,
    textbook: bool = False,
    plan_from: Value | None = None,
    emit: Literal["vllm", "sglang", "trtllm"] | None = None,
) -> ServeAnswer:
    """Prefill, decode, memory and cost of serving a model on a slice.

    `model` is a name, the path of a config.json, its text, a dict, a configuration of transformers, or the answer
    of `model()`.

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        model: A configuration (config.json of a checkpoint), or a name (CONFIG.json|NAME).
        on: Slice of a machine, such as tpu-v5e:4x4 or h100-sxm:8; repeat for one column per slice (SLICE).
        prompt: Prompt tokens per request; default 1024. uniform:A..B and lognormal:MEAN,SIGMA are distributions for
            a simulated load (TOKENS).
        output: Output tokens per request, likewise; default 256 (TOKENS).
        batch: Number of sequences that are decoded together; default 1 (SEQUENCES).
        chunk: Tokens per chunk of a long prompt (chunked prefill); activations are those of one chunk; default 8192
            (TOKENS).
        memory_fraction: Part of a chip's memory that the server uses: 0.9 or 90%; default: that of its software
            (FRACTION).
        block: Tokens per block of the KV cache, to which those of a sequence are rounded up; default: that of the
            server's software for what it holds, else 1 (TOKENS).
        draft: Speculative decoding: draft so many tokens for each step, which the model verifies together; by its
            own layer that predicts further tokens (MTP) if it has one, otherwise by a lookup that takes no time
            (TOKENS).
        acceptance: Probability that a drafted token is accepted if all before it were: 0.8 or 80% (FRACTION).
        draft_model: A smaller model that drafts these tokens (CONFIG.json|NAME).
        concurrency: Simulate a server with so many requests in flight, each followed by the next (closed loop)
            (REQUESTS).
        rate: Simulate a server at which so many requests arrive per second, at random (open loop) (REQUESTS/S).
        lengths: Prompt and output tokens of the simulated requests, one per line (columns prompt,output)
            (FILE.csv).
        cached: Part of each prompt that is in a prefix cache: 0.8, 80% or 600 tokens (FRACTION|TOKENS).
        ttft: Target of TTFT: adds goodput, and the largest load of which the 99th percentile meets it (500ms).
        tpot: Target of TPOT, likewise (30ms).
        schedule: Prompts beside decode tokens (mixed, the default) or before them (prefill-first) (mixed|prefill-
            first).
        two_batch_overlap: Exchange the tokens of half a batch beside the kernels of the other half, where that is
            faster.
        balancedness: Mean over largest number of tokens that a chip's experts get, as servers report it; default:
            as popularity and chance make it (FRACTION).
        routing: Popularity of the experts of a layer: all alike (uniform, the default), by Zipf's law (zipf:1), or
            as measured: a number per expert, one per line (column tokens or share) (uniform|zipf:S|FILE.csv).
        redundant_experts: Replicas of popular experts per layer over all chips, placed as EPLB does; 0: no
            replicas, but so placed; default: none, and experts lie in the order of ids (N).
        requests: Number of requests to simulate; default: ten per request in flight, at least 10000 with `rate`
            (N).
        weights: Dtype of all parameters, or a file type of llama.cpp, such as Q4_K_M; default: as stored in the
            checkpoint (DTYPE|FILETYPE).
        kv_dtype: Dtype of the KV cache; default: as stated in the checkpoint, else bf16 (DTYPE).
        mesh: Degree of each kind of parallelism; default: those with the fastest tokens, or without `batch`, too,
            the best set-up of `plan serve` (data=2,tensor=8).
        disaggregated: Prefill on separate slices, like those of `on`.
        prefill: Prefill on slices of this machine; those of `on` only decode (SLICE).
        prefill_mesh: Degree of each kind of parallelism of prefill; default: the plan with the most prompts per
            second (data=2,tensor=4).
        prefill_workers: Number of slices that prefill under a load; default: as many as decode keeps busy (N).
        decode_workers: Number of slices that decode under a load; default 1 (N).
        overlap_transfer: Send KV caches to decode layer by layer during prefill, and not after it.
        exchange: Kernels by which tokens get to experts on other chips: all-gather, deepep, deepep normal, deepep
            low latency, flashinfer, nvlink one-sided; default: those of the server (KERNELS).
        price: USD per chip-hour (USD).
        set: What if: replace a figure of the machine, absolute or relative (hbm.bandwidth=3TB/s|*2).
        sweep: Sweep a figure of `set`, or batch, prompt or output, and find where the best plan and the bottleneck
            change; given twice, a grid (hbm.bandwidth=2TB/s..16TB/s*1.5).
        software: Library, with or without version, whose measurements expected times are based on (nccl-2.29).
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).
        textbook: Textbook approximation of collectives: every torus axis is a wrapped ring, without the factor
            (n-1)/n.
        plan_from: Take the plan from the flags or the configuration that start a framework; its name may stand
            before the file, megatron:run.sh; options that are given, too, must agree ([FRAMEWORK:]FILE).
        emit: Print only the flags or the configuration that start the plan in this framework, with what they do not
            express as comments; in JSON the key `emitted` (vllm|sglang|trtllm).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(ServeAnswer, ask("serve", locals(), ServeAnswer))


@question
def validate(
    table: Table,
    *,
    on: Machines | None = None,
    set: Pairs | None = None,
    collective: Value | None = None,
    strict: bool = False,
    calibration: Pairs | None = None,
    max_error: Value | None = None,
) -> ValidateAnswer:
    """Compares predictions with measurements.

    `table` is the name of a CSV or Parquet file, the text of a CSV file, or a frame of pandas or table of Arrow
    (docs/reference/tables.md has the columns).

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        table: Measured times, as CSV (docs/reference/tables.md has the columns) or as nccl-tests print them, or a
            recorded profile that `roofline trace` reads; - for standard input (FILE).
        on: Machine, slice or machine file that all rows were measured on; overrides the table (MACHINE).
        set: What if: replace a figure of that machine, absolute or relative (nvlink.bandwidth=400GB/s|*2).
        collective: The collective that nccl-tests timed, if their output does not name it (all-gather).
        strict: Treat a cell that is not a number as an error; default: skip and count its row.
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).
        max_error: Maximum acceptable mean error: 10% or 0.1 (ERROR).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(ValidateAnswer, ask("validate", locals(), ValidateAnswer))


@question
def fit(
    tables: Table | Sequence[Table],
    *,
    on: Machines | None = None,
    set: Pairs | None = None,
    collective: Value | None = None,
    strict: bool = False,
    output: Value | None = None,
    date: Value | None = None,
) -> FitAnswer:
    """Fits models of expected times to measurements.

    Tables are names of CSV or Parquet files, texts of CSV files, or frames of pandas or tables of Arrow.

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        tables: Measured times, as CSV (docs/reference/tables.md has the columns) or as nccl-tests print them, or
            recorded profiles that `roofline trace` reads (FILE).
        on: Machine, slice or machine file that all rows were measured on; overrides the table (MACHINE).
        set: What if: replace a figure of that machine, absolute or relative (nvlink.bandwidth=400GB/s|*2).
        collective: The collective that nccl-tests timed, if their output does not name it (all-gather).
        strict: Treat a cell that is not a number as an error; default: skip and count its row.
        output: Directory for one file per machine, or a .toml file for a single machine (DIR|FILE.toml).
        date: Date of the fit to write into the files; default: today (YYYY-MM-DD).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(FitAnswer, ask("fit", locals(), FitAnswer))


@question
def hlo(
    module: Text | bytes,
    *,
    on: Machines | None = None,
    set: Pairs | None = None,
    cost: Literal["ours", "xla", "xla-gpu"] | None = None,
    trace: Text | None = None,
    count_multiple_input_accesses: bool = False,
    loops: Pairs | None = None,
    dims: Sizes | None = None,
    mesh: Pairs | None = None,
    software: Value | None = None,
    calibration: Pairs | None = None,
) -> HloAnswer:
    """What an XLA module costs: every kernel against its roofline.

    `module` is the name of a file with HLO text, an HLO proto, StableHLO text, an ONNX model or a graph of PyTorch,
    packed by gzip or not, or its contents: text, or bytes. `roofline.jax()` makes it from a function,
    `roofline.torch()` from a module of PyTorch.

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        module: HLO text (compiled.as_text(), --xla_dump_to), an HLO proto (--xla_dump_hlo_as_proto), StableHLO text
            (lowered.as_text()), an ONNX model or a graph of PyTorch (roofline.torch_graph() in Python), also packed
            by gzip; or - for standard input (FILE).
        on: Machine or slice with as many chips as the module has devices (MACHINE[:SHAPE]).
        set: What if: replace a figure of the machines, absolute or relative (hbm.bandwidth=3TB/s|*2).
        cost: Rules by which work is counted: ours multiplies loops and prices custom calls; xla and xla-gpu count
            as XLA's HloCostAnalysis and GpuHloCostAnalysis, without times (ours|xla|xla-gpu).
        trace: Profile of a run of the module (jax.profiler: .xplane.pb, .trace.json.gz): measured times beside the
            expected ones (FILE).
        count_multiple_input_accesses: Of XLA's analyses: an operand that a fusion reads several times counts each
            time.
        loops: Trip count of a loop, where the module does not state it or states another one (NAME=COUNT).
        dims: Sizes of dimensions that an ONNX model only names; k is 1000, Ki 1024 (batch=32,seq=128).
        mesh: Axes over which a module from before partitioning is laid out, outermost first; default: its own.
            Other sizes for axes of its own mesh lay it out over as many devices (data=4,model=2).
        software: Software whose calibration is used; default: the newest (NAME).
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(HloAnswer, ask("hlo", locals(), HloAnswer))


@question
def trace(
    profiles: Table | Sequence[Table],
    *,
    on: Machines,
    set: Pairs | None = None,
    software: Value | None = None,
    calibration: Pairs | None = None,
    perfetto: Value | None = None,
    model: Model | None = None,
    mesh: Pairs | None = None,
    batch_tokens: Value | None = None,
    seq: Value | None = None,
    microbatches: Value | None = None,
    zero: Value | None = None,
    remat: Value | None = None,
    optimizer: Value | None = None,
    batch: Value | None = None,
    prompt: Value | None = None,
    output: Value | None = None,
    weights: Value | None = None,
    kv_dtype: Value | None = None,
) -> TraceAnswer:
    """Where the steps of a profile go; each operation beside its bound and expected time.

    `model` is a name, the path of a config.json, its text, a dict, a configuration of transformers, or the answer
    of `model()`.

    `on` is the name of a machine or slice ("h100-sxm:8x4"), the path of a machine file, its text, or the answer of
    `machine()`; a list of them is answered side by side.

    Args:
        profiles: Trace of torch.profiler or jax.profiler (JSON, also packed by gzip; several are the ranks of one
            run); XSpace proto (.xplane.pb); reports of Nsight Systems (nsys export --type sqlite, nsys stats
            --format csv), rocprof v1 to v3 (CSV, JSON, rocpd) and xprof (hlo_stats, roofline_model, op_profile);
            output of `ncu --page raw --csv`; a table with the columns name, flops, bytes and measured_s; - for
            standard input (FILE).
        on: Machine or slice that the profile was recorded on (MACHINE[:SHAPE]).
        set: What if: replace a figure of that machine, absolute or relative (hbm.bandwidth=3TB/s|*2).
        software: Software whose calibration is used; default: the newest (NAME).
        calibration: File of `roofline fit` with models of expected times that replace the built-in ones of its
            machine, or of all servers; none: no expected times (FILE.toml|none).
        perfetto: Write a step as a trace for Perfetto, with the expected time of each kernel below it (FILE.json).
        model: Model that ran, as a configuration (config.json) or a name: compares the recorded step with that of
            its plan, and lists kernels that the plan does not have, that are missing, and that are slow
            (CONFIG.json|NAME).
        mesh: Degrees of parallelism of the model, as for `train` and `serve` (fsdp=16,tensor=8).
        batch_tokens: Training: tokens per step on all chips together (TOKENS).
        seq: Training: sequence length in tokens (TOKENS).
        microbatches: Training: number of microbatches per step (N).
        zero: Training: ZeRO stage over the data axis (1|2|3).
        remat: Training: planned recomputation; default: none (none|selective|alternate|full|Hm,O).
        optimizer: Training: optimizer, as for `train` (adam[,moments=DTYPE][,master][,unfused]|sgd).
        batch: Serving: sequences decoded together (SEQUENCES).
        prompt: Serving: prompt tokens per sequence (TOKENS).
        output: Serving: output tokens per sequence (TOKENS).
        weights: Serving: dtype of all parameters (DTYPE).
        kv_dtype: Serving: dtype of the KV cache (DTYPE).

    Raises:
        Error: an unknown name, a wrong form or size, a file that cannot be read; with place and remedy.
    """
    return cast(TraceAnswer, ask("trace", locals(), TraceAnswer))
