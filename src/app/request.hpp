// Requests and responses, which all interfaces of the program share. A request contains the contents of its files, so
// that answering it requires no access to the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "import/weight_files.hpp"
#include "plan/milp.hpp"
#include "predict/plan/search_progress.hpp"
#include "report/format.hpp"
#include "report/page/page.hpp"
#include "text/byte_source.hpp"

namespace roofline::core {

/// A machine by name, or the text of a machine file.
struct MachineRef {
    std::string name;  ///< "tpu-v5e", or the name of the file for messages
    std::optional<std::string> toml;
    /// Slice of a machine from a file, "4x4"; for a built-in machine it is part of `name`, after a colon.
    std::string slice{};
    std::optional<Error> unreadable{};  ///< why the file cannot be read
};

/// The name and the contents of a file.
struct NamedText {
    std::string name;
    std::string text;
};

/// A file that is opened when it is read, because it may be large.
struct NamedFile {
    std::string name;
    std::function<Result<std::unique_ptr<ByteSource>>()> open;
};

/// The calibrations of expected times: the built-in ones, where these files replace those for the same machines.
struct CalibrationRef {
    bool none = false;  ///< no calibrations, so no expected times
    std::vector<NamedText> files{};
    std::vector<std::string> beside{};  ///< machines whose answers are compared, as --on names them
};

/// A request of `roofline op`.
struct OpRequest {
    static constexpr bool by_machine = true;  ///< if one machine fails, the others are still answered
    std::string program;
    std::string program_name;  ///< file name for messages; "" for the command line
    std::vector<MachineRef> machines;
    std::vector<std::string> dims;    ///< "B=256,D=8k"
    std::vector<std::string> mesh;    ///< "X=4,Y=4"
    std::vector<std::string> sets;    ///< "hbm.bandwidth=3TB/s"
    std::vector<std::string> sweeps;  ///< "B=1..4096*2", "hbm.bandwidth=2TB/s..8TB/s*2"
    std::vector<std::string> tiles;   ///< "vmem:B=128,F=256", "best"
    std::string expert_groups;        ///< "4/8": each token is limited to 4 of 8 groups of experts; "": to none
    std::string software;             ///< "nccl-2.29": software whose calibration is used; "": the newest
    CalibrationRef calibration{};
    bool textbook = false;  ///< approximate collectives as one does by hand
    bool in_place = false;  ///< matmuls are split in the way that their tensors are sharded, as ranks execute them
    bool explain = false;
    bool exact_flops = false;
    PlotKind plot = PlotKind::none;
    bool page = false;       ///< a report, too
    bool all_roofs = false;  ///< a roofline plot also has the roofs that the program does not use
};

/// A request of `roofline machine`.
struct MachineRequest {
    static constexpr bool by_machine = true;  ///< if one machine fails, the others are still answered
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;
    std::string ert;      ///< file to write the machine to in the format of the Empirical Roofline Toolkit; "": none
    std::string rocprof;  ///< file to write the machine to in the format of rocprof-compute; "": none
};

/// Pictures of `roofline validate`.
enum class ValidationPlot {
    none,
    scatter,   ///< predicted over measured times
    frontier,  ///< of served models: tokens/s per chip over tokens/s per user, measured and expected
};

/// A request of `roofline validate`.
struct ValidateRequest {
    std::string table;       ///< contents of a CSV file, or output of nccl-tests
    std::string table_name;  ///< for messages and the heading
    /// In place of both: a table or a recorded profile, which may be packed.
    std::optional<NamedFile> file{};
    /// Empty, or the machine that the table was measured on, whatever the table says.
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;  ///< what-ifs on that machine
    CalibrationRef calibration{};
    std::string collective;  ///< "all-gather": the operation that nccl-tests timed, if their output does not name it
    bool strict = false;     ///< a cell that is not a number is an error; otherwise its row is skipped
    std::optional<double> max_error;  ///< the answer is negative if the mean error exceeds this fraction
    ValidationPlot plot = ValidationPlot::none;
    bool page = false;  ///< a report, too
};

/// A request of `roofline fit`.
struct FitRequest {
    std::vector<NamedText> tables;     ///< contents of CSV files, or output of nccl-tests
    std::vector<NamedFile> files{};    ///< more tables, or recorded profiles, which may be packed
    std::vector<MachineRef> machines;  ///< empty, or the machine that all tables were measured on, whatever they say
    std::vector<std::string> sets;     ///< what-ifs on that machine
    std::string collective;            ///< operation that nccl-tests timed, if their output does not name it
    bool strict = false;               ///< a cell that is not a number is an error; otherwise its row is skipped
    std::string output;                ///< a directory; a .toml file for a single machine; or "" to write nothing
    std::string date;                  ///< date of the fit, "2026-01-31"; "" omits it
};

/// A request of `roofline model`.
struct ModelRequest {
    NamedText config;  ///< config.json; or without text the name of a model that the program knows
    /// Weight files. If there are any, the request is about them, and `config` is the configuration next to them or
    /// empty.
    std::vector<WeightFile> checkpoint{};
    NamedText checkpoint_index{};  ///< index of several weight files: model.safetensors.index.json
    NamedText quantisation{};      ///< hf_quant_config.json; without text the configuration is used
    std::string sequence;          ///< "8k"; "": the configuration's context
    std::string kv_dtype;          ///< "": bf16
    std::string weights;           ///< dtype of all parameters; "": as in the checkpoint
    bool list = false;             ///< only list the supported model types
    bool program = false;          ///< only print the sized program in the notation
    bool training = false;         ///< the program of a training step instead of a forward pass
    /// Recomputation policy of a training step: "none", "selective", "alternate", "full" or names of tensors, "Q,Hm".
    std::string remat{};
    bool layers = false;  ///< a table has one row per kind of layer instead of one per part
    bool plot = false;
    bool page = false;  ///< a report, too
};

/// How a search for plans runs. What it finds does not depend on it, unless `watch` ends it.
struct SearchControl {
    std::size_t threads = 1;
    std::function<double()> clock{};  ///< seconds since some time; empty: the search is not timed
    SearchWatcher watch{};
    /// Ends a search for servers or for a machine by returning true: its answer is then the error `interrupted`.
    /// Several threads call it at a time.
    std::function<bool()> stop{};
};

/// A file with the flags or the configuration that start a framework.
struct LaunchFile {
    std::string framework;  ///< "megatron"; "": the one that its text is recognised as
    NamedText file;
};

/// A request of `roofline train`.
struct TrainRequest {
    static constexpr bool by_machine = true;  ///< if one machine fails, the others are still answered
    NamedText config;  ///< config.json; or without text the name of a model that the program knows
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;      ///< "hbm.bandwidth=3TB/s"
    std::vector<std::string> sweeps{};  ///< "hbm.bandwidth=2TB/s..8TB/s*2", "batch-tokens=1Mi..8Mi*2"
    std::string batch_tokens;           ///< "4M": tokens per step of all chips together; "": not given
    std::string sequence;               ///< "8k"; "": the configuration's context
    std::vector<std::string> mesh;      ///< "data=2,fsdp=16,tensor=8"; empty: the fastest plan is searched
    /// In a search they are fixed if they are given, and searched otherwise.
    std::string zero;            ///< "2": ZeRO stage of the `data` axis; "": 0
    std::string microbatches;    ///< "8": number of micro-batches per step; "": 1
    std::string schedule;        ///< schedule of a pipeline; "": "1f1b"
    std::string remat;           ///< "none", "selective", "alternate", "full" or "Hm,O"; "": none
    std::string optimizer;       ///< "adam", "adam,moments=bf16,master", "sgd"; "": adam with f32 moments
    std::string lora{};          ///< "16": rank of low-rank adapters, the only ones that are trained; "": all are
    std::string lora_on{};       ///< "q+k+v,o": projections with adapters; "": those of attention
    std::string frozen_dtype{};  ///< "fp8": dtype of the frozen matrices; "": as in the model
    std::string products;        ///< "fp8": dtype of matmuls with parameters; "": as stored
    std::string dispatch;  ///< "fp8": dtype in which tokens and gradients are dispatched to experts; "": as stored
    std::string overlap;   ///< "expert": axes whose collectives overlap with matmuls; "none"; "": as the framework says
    NamedText framework{};      ///< "nemo-25.09", or a file that describes one; "": none is named
    std::string tokens;         ///< "15T": tokens of the whole training run; "": not given
    std::optional<double> mfu;  ///< MFU that replaces the predicted step time
    std::string failures{};     ///< "0.5": interruptions per 1,000 chip-days; "": the published rate of the machine
    std::string storage{};      ///< "2TB/s": bandwidth to the storage of checkpoints; "": without interruptions
    std::string restart{};      ///< "10min": from an interruption until training goes on; "": as published
    bool async_checkpoints = false;  ///< training goes on while a checkpoint is written
    std::string price;               ///< "2.5": USD per chip-hour; "": the machine's price
    std::string software;            ///< "nccl-2.29": software whose calibration is used; "": the newest
    CalibrationRef calibration{};
    bool textbook = false;                  ///< approximate collectives as one does by hand
    bool explain = false;                   ///< derive a step in full, as `roofline op --explain` does
    bool program = false;                   ///< only print the program of a step in the notation
    bool plot = false;                      ///< the timeline of a step
    bool page = false;                      ///< a report, too
    std::optional<LaunchFile> plan_from{};  ///< that says the plan
    /// Whether tokens lie over the tensor axis; empty: as the framework does.
    std::optional<bool> tensor_tokens{};
    std::string emit{};  ///< "megatron": framework as whose launch the plan is printed; "": none
    SearchControl search{};
};

/// A request of `roofline plan train`.
struct PlanRequest {
    /// The job. Degrees in `mesh` are fixed, and so are the ZeRO stage, recomputation, micro-batches and schedule if
    /// they are given; all else is searched. `batch_tokens` and `sequence` may be ranges, "1Mi..16Mi*2".
    TrainRequest train;
    /// "256..4096*2": numbers of chips of a machine without a slice; no slice may have more than the largest.
    std::string chips{};
    std::string objective{};           ///< "cost": what is to be least; "": the first of `front`, or time
    std::string front{};               ///< "time,cost": two objectives whose front is searched for; "": none
    std::string days{};                ///< "60": limit of the run
    std::string usd{};                 ///< "5M": limit of the run
    std::string power{};               ///< "10MW": limit of all chips
    bool plot = false;                 ///< the picture of the front
    bool page = false;                 ///< a report, too
    std::vector<std::string> without;  ///< "pipeline,context": axes that are not used
    std::string shown{};               ///< "8": number of plans beside the best one; "": 8
    std::string part{};    ///< "3/64": only the third of 64 equal parts is searched; "leading"; "": all plans
    NamedText leading{};   ///< the file of the part "leading", for a part of the rest; without text: none
    std::string limit{};   ///< "1M": at most so many plans are searched; "": all
    std::string output{};  ///< file to write the result of a part to; "": it is the answer
};

/// A request of `roofline plan --merge`: the files that `roofline plan train --part` has written.
struct PlanMergeRequest {
    std::vector<NamedText> parts;
    std::function<double()> clock{};  ///< seconds since some time; empty: the answer is not timed
    bool page = false;                ///< a report, too
};

/// A request of `roofline serve`.
struct ServeRequest {
    static constexpr bool by_machine = true;  ///< if one machine fails, the others are still answered
    NamedText config;  ///< config.json; or without text the name of a model that the program knows
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;      ///< "hbm.bandwidth=3TB/s"
    std::vector<std::string> sweeps{};  ///< "hbm.bandwidth=2TB/s..8TB/s*2", "batch=1..64*2"
    std::vector<std::string> mesh;  ///< "data=2,tensor=8"; empty: the fastest that holds the batch, or the best set-up
    std::string prompt;             ///< "8k", "uniform:1k..2k", "lognormal:1000,0.5": input tokens per request
    std::string output;             ///< output tokens per request, likewise
    std::optional<NamedText> lengths{};  ///< table of requests, in place of both
    std::string batch;                   ///< requests that are decoded together
    std::string chunk{};                 ///< tokens of a long prompt that are prefilled together; "": 8192
    std::string memory_fraction{};       ///< "0.9" or "90%": of a chip's memory that a server uses; "": its default
    std::string block{};                 ///< tokens per block of the KV cache; "": the server's default
    std::string concurrency{};           ///< requests in flight of a simulated server (closed loop); "": the batch
    std::string rate{};                  ///< "2.5": requests per second that arrive at it (open loop); "": closed loop
    std::string requests{};              ///< number of requests to simulate; "": chosen
    std::string schedule{};              ///< "mixed" or "prefill-first"; "": mixed
    std::string cached{};      ///< "0.8", "80%" or "600": part of each prompt that a prefix cache has; "": none
    std::string ttft{};        ///< "500ms": target of the time to first token; "": none
    std::string tpot{};        ///< "30ms": target of the time per output token; "": none
    std::string draft{};       ///< tokens that are drafted for each step of a sequence; "": none
    std::string acceptance{};  ///< "0.8" or "80%": probability that such a token is accepted
    std::optional<NamedText> draft_model{};  ///< config.json, or without text a name; otherwise see DraftSource
    std::string exchange{};      ///< "deepep": kernels that exchange tokens with experts; "": those of the server
    std::string balancedness{};  ///< "0.8": mean over largest number of tokens of a chip's experts; "": by chance
    std::string routing{};       ///< "uniform" or "zipf:1": popularity of experts; "": uniform, or as `popularity` says
    std::optional<NamedText> popularity{};  ///< table of measured popularities
    std::string redundant_experts{};        ///< "32": replicas of experts per layer; "": none, and no EPLB
    std::string weights;                    ///< dtype of all parameters; "": as in the checkpoint
    std::string kv_dtype;                   ///< "": the checkpoint's choice, otherwise bf16
    std::string price;                      ///< "2.5": USD per chip-hour; "": the machine's price
    std::string software;                   ///< "nccl-2.29": software whose calibration is used; "": the newest
    CalibrationRef calibration{};
    bool textbook = false;                    ///< approximate collectives as one does by hand
    bool disaggregated = false;               ///< prefill runs on slices of its own
    std::optional<MachineRef> prefill{};      ///< slice that prefills; empty: one like those of `machines`
    std::vector<std::string> prefill_mesh{};  ///< its plan; empty: the one that processes the most prompts per second
    std::string prefill_workers{};            ///< number of such slices under a load; "": as many as decode keeps busy
    std::string decode_workers{};             ///< number of slices that decode under a load; "": 1
    bool two_batch_overlap = false;           ///< collectives of half a batch run beside the kernels of the other half
    bool overlap_transfer = false;            ///< caches are sent to them layer by layer, during prefill
    std::optional<LaunchFile> plan_from{};    ///< that says the plan
    std::string emit{};                       ///< "vllm": framework as whose launch the plan is printed; "": none
    bool explain = false;                     ///< derive a decode step in full, as `roofline op --explain` does
    bool plot = false;                        ///< plot tokens/s over TPOT by batch size
    bool page = false;                        ///< a report, too
};

/// A request of `roofline plan serve`.
struct ServePlanRequest {
    /// The job. Each of `machines` has all chips that may be used, or no slice; degrees in `mesh` and `prefill_mesh`
    /// are fixed. `weights`, `kv_dtype` and `chunk` may be lists, "bf16,fp8". `rate` is that of all servers.
    ServeRequest serve;
    std::string chips{};                 ///< "144": chips of machines without a slice
    std::string objective{};             ///< "throughput", "cost" or "chips"; "": throughput, or chips with a rate
    std::string percentile{};            ///< "99", "90", "50" or "mean": what must meet the targets; "": 99
    bool aggregated = false;             ///< only servers that prefill and decode
    std::vector<std::string> without{};  ///< axes that are not used
    std::string shown{};                 ///< number of set-ups to show; "": 6
    SearchControl search{};
};

/// Chips of one machine, of a fleet.
struct FleetPoolRequest {
    std::string name;
    MachineRef machine;             ///< without a slice
    std::int64_t chips = 1;         ///< that there are
    std::vector<std::string> sets;  ///< "price=2.5"
};

/// A training job of a fleet. It has no machine; `chips` of the search are those that are tried on every pool.
struct FleetTrainingRequest {
    std::string name;
    PlanRequest plan;
};

/// A served model of a fleet. It has no machine; `rate` is that of all replicas.
struct FleetServingRequest {
    std::string name;
    ServePlanRequest plan;
};

/// A request of `roofline plan fleet`.
struct FleetRequest {
    std::vector<FleetPoolRequest> pools;
    std::vector<FleetTrainingRequest> trained;
    std::vector<FleetServingRequest> served;
    double period_s = 0;  ///< for which served models are paid
    CalibrationRef calibration{};
    SearchControl search{};
    bool page = false;                              ///< a report, too
    std::function<Result<MilpSolver*>()> solver{};  ///< loads the solver, which may be absent
};

/// A request of `roofline plan design`.
struct DesignRequest {
    MachineRef base;                ///< machine whose figures are varied
    std::vector<std::string> sets;  ///< what-ifs on it that stay
    std::vector<std::string> vary;  ///< "hbm.bandwidth=2..8TB/s, hbm.capacity=64..288GiB*1.5"
    std::string steps{};            ///< "8": values of a range without an increment; "": 8
    std::string front{};            ///< "8": machines of the front; "": 8
    NamedText cost;                 ///< file of the cost model
    NamedText workloads;            ///< file of the workloads
    std::string software{};         ///< software whose calibration is used; "": the newest
    CalibrationRef calibration{};
    bool plot = false;  ///< the picture of the front
    bool page = false;  ///< a report, too
    SearchControl search{};
};

/// A request of `roofline measure import`, which converts measurements of other tools to a machine file.
struct ImportRequest {
    std::vector<NamedText> files;
    std::optional<MachineRef> base;   ///< machine whose values are kept where the files have none
    std::vector<std::string> levels;  ///< "L1=l2", "l3": levels, where a tool names none or the wrong one
    std::string output;               ///< machine file to write; "" to write nothing
    std::string date;                 ///< date of the import, "2026-01-31"; "" omits it
};

/// A request of `roofline trace`, which compares profiled kernels with a machine's roofline.
struct TraceRequest {
    std::vector<NamedFile> profiles;  ///< several of them are those of the ranks of one run
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;
    std::string software{};  ///< software whose calibration is used; "": the newest
    CalibrationRef calibration{};
    PlotKind plot = PlotKind::none;    ///< roofline or timeline
    bool page = false;                 ///< a report, too
    std::string perfetto{};            ///< file to write the trace of a step to; "": none
    std::optional<NamedText> model{};  ///< whose planned step is compared with the recorded one
    std::vector<std::string> mesh{};   ///< its plan: "fsdp=8"
    /// Batch, sequence, micro-batches, ZeRO stage, recomputation and optimizer of a training step. Only these are read.
    TrainRequest train{};
    /// Batch, prompt, output and dtypes of a server; all else is not read.
    ServeRequest serve{};
};

/// A request of `roofline hlo`.
struct HloRequest {
    static constexpr bool by_machine = true;  ///< if one machine fails, the others are still answered
    NamedText module;
    std::optional<NamedFile> profile{};  ///< of a run of the module
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;
    std::string cost;                ///< "ours", "xla", "xla-gpu"; "": ours
    std::vector<std::string> loops;  ///< "while.3=8": trip counts that the module does not tell
    std::vector<std::string> dims;   ///< "batch=32": sizes of dimensions that an ONNX model only names
    bool count_multiple_input_accesses = false;
    bool program = false;           ///< only the program in the notation
    std::vector<std::string> mesh;  ///< "data=4,model=2": of a module from before partitioning, outermost first
    std::string software;           ///< software whose calibration is used; "": the newest
    CalibrationRef calibration{};
    bool plot = false;
    bool page = false;  ///< a report, too
};

/// A request of any command.
using AnyRequest = std::variant<OpRequest, MachineRequest, ValidateRequest, FitRequest, ModelRequest, TrainRequest,
                                PlanRequest, PlanMergeRequest, FleetRequest, DesignRequest, ServePlanRequest,
                                ServeRequest, ImportRequest, TraceRequest, HloRequest>;

struct Request {
    AnyRequest what;
    Format format = Format::text;
    bool color = false;
};

struct Response {
    int exit_code = 0;
    std::string out;  ///< the answer; in JSON an error, too
    std::optional<Error> error;
    std::string svg;                   ///< the requested plot
    std::optional<ReportPage> page{};  ///< the requested report
    std::vector<NamedText> files{};    ///< files to be written
    std::vector<Error> beside{};       ///< errors of machines missing from the answer; in JSON they are in `out`
};

/// Exit code of an interrupted search: 128 and the number of SIGINT, as shells count.
inline constexpr int interrupted_exit = 130;

/// Handlers, one per kind of request. Errors: invalid options, files without the expected content, unknown machines.
[[nodiscard]] Result<Response> handle(const OpRequest& request, Format format, bool color);
[[nodiscard]] Result<Response> handle(const MachineRequest& request, Format format);
[[nodiscard]] Result<Response> handle(const ModelRequest& request, Format format);
/// Exit code 1 if the plan does not fit the memory of a chip, or no plan does; 130 if the search for the plan was
/// interrupted: the answer is then that of the best one so far.
[[nodiscard]] Result<Response> handle(const TrainRequest& request, Format format);
/// Exit code 1 if no plan fits; the answer is then the one that needs the least memory. 130 if it was interrupted: the
/// answer is then the best of those that were looked at.
[[nodiscard]] Result<Response> handle(const PlanRequest& request, Format format);
/// The answer is that of the whole search. Errors: files that are no parts; a part that is missing or stands twice;
/// parts of different questions or of other versions of the program.
[[nodiscard]] Result<Response> handle(const PlanMergeRequest& request, Format format);
/// Exit code 1 if no set-up meets the targets; the answer is then the one that comes nearest.
[[nodiscard]] Result<Response> handle(const ServePlanRequest& request, Format format);
/// Exit code 1 if not all jobs can run. Errors: those of the jobs on every pool; a solver that is absent.
[[nodiscard]] Result<Response> handle(const FleetRequest& request, Format format);
/// Exit code 1 if no machine meets the targets.
[[nodiscard]] Result<Response> handle(const DesignRequest& request, Format format);
/// Exit code 1 if the slice is too small; the answer then names one that is large enough.
[[nodiscard]] Result<Response> handle(const ServeRequest& request, Format format);
[[nodiscard]] Result<Response> handle(const TraceRequest& request, Format format, bool color);
[[nodiscard]] Result<Response> handle(const HloRequest& request, Format format, bool color);
/// Exit code 1 if the mean error exceeds the limit of the request.
[[nodiscard]] Result<Response> handle(const ValidateRequest& request, Format format);
[[nodiscard]] Result<Response> handle(const FitRequest& request, Format format);
[[nodiscard]] Result<Response> handle(const ImportRequest& request, Format format);

/// Calls the handler of a request. Exit codes: 0 success, 1 a negative answer (no tile fits, a check failed), 2 the
/// request or its input is invalid.
[[nodiscard]] Response handle(const Request& request);

/// How the search of a request runs; null for a kind of request that searches nothing.
[[nodiscard]] SearchControl* search_of(Request& request);

/// Returns the response for a request that failed.
[[nodiscard]] Response failed_response(const Error& error, int exit_code, Format format);

}  // namespace roofline::core
