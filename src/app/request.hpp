// What any door asks and what it is answered. A request carries the contents of its files, so answering it needs no disk.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "import/weight_files.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// A machine by name, or the text of a machine file.
struct MachineRef {
    std::string name;  ///< "tpu-v5e", or the file's name for messages
    std::optional<std::string> toml;
    std::string slice{};                ///< of a file, "4x4"; a built-in machine's stands behind the colon of its name
    std::optional<Error> unreadable{};  ///< why the file cannot be read
};

/// A file by its name and contents.
struct NamedText {
    std::string name;
    std::string text;
};

/// Which constants expected times are made of: those of the program, with these files in the place of their machines'.
struct CalibrationRef {
    bool none = false;  ///< no constants at all, so no expected times
    std::vector<NamedText> files{};
    std::vector<std::string> beside{};  ///< machines whose answers stand beside each other, as --on names them
};

/// `roofline op`
struct OpRequest {
    static constexpr bool by_machine = true;  ///< answered for the others where one machine cannot be
    std::string program;
    std::string program_name;  ///< file name for messages; "" for the command line
    std::vector<MachineRef> machines;
    std::vector<std::string> dims;    ///< "B=256,D=8k"
    std::vector<std::string> mesh;    ///< "X=4,Y=4"
    std::vector<std::string> sets;    ///< "hbm.bandwidth=3TB/s"
    std::vector<std::string> sweeps;  ///< "B=1..4096*2"
    std::vector<std::string> tiles;   ///< "vmem:B=128,F=256", "best"
    std::string expert_groups;        ///< "4/8": the groups of experts that each token is limited to; "": all
    std::string software;             ///< "nccl-2.29": whose constants expected times are taken from; "": the newest
    CalibrationRef calibration{};
    bool textbook = false;  ///< collectives as people approximate them by hand
    bool in_place = false;  ///< products are split as their tensors are, as they run over ranks
    bool explain = false;
    bool exact_flops = false;
    PlotKind plot = PlotKind::none;
    bool all_roofs = false;  ///< of a roofline: also those that the program does not use
};

/// `roofline machine`
struct MachineRequest {
    static constexpr bool by_machine = true;  ///< answered for the others where one machine cannot be
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;
    std::string ert;      ///< the file that the Empirical Roofline Tool's form of the one machine goes to; "" for none
    std::string rocprof;  ///< the same of rocprof-compute's
};

/// `roofline validate`
struct ValidateRequest {
    std::string table;                 ///< the contents of a CSV file, or what nccl-tests printed
    std::string table_name;            ///< for messages and the heading
    std::vector<MachineRef> machines;  ///< nothing, or what the table was measured on, whatever it says itself
    std::vector<std::string> sets;     ///< what-ifs on that machine
    CalibrationRef calibration{};
    std::string collective;           ///< "all-gather": what nccl-tests timed, where their output does not say
    bool strict = false;              ///< a cell that is no number costs the table, not its row
    std::optional<double> max_error;  ///< the answer is negative when the mean error is beyond this fraction
    bool plot = false;
};

/// `roofline fit`
struct FitRequest {
    std::vector<NamedText> tables;     ///< CSV files, or what nccl-tests printed
    std::vector<MachineRef> machines;  ///< nothing, or what all tables were measured on, whatever they say
    std::vector<std::string> sets;     ///< what-ifs on that machine
    std::string collective;            ///< what nccl-tests timed, where their output does not say
    bool strict = false;               ///< a cell that is no number costs the table, not its row
    std::string output;                ///< a directory, a .toml file for a single machine, or "" to write nothing
    std::string date;                  ///< of the fit, "2026-01-31"; "" when it is not to be said
};

/// `roofline model`
struct ModelRequest {
    NamedText config;  ///< config.json, or a name and no text: a model that the program knows
    std::vector<WeightFile>
        checkpoint{};  ///< files of weights; where there are any they are asked for, and `config` lies beside them or is empty
    NamedText checkpoint_index{};  ///< of several of them: model.safetensors.index.json
    NamedText quantisation{};      ///< hf_quant_config.json; no text: what the configuration says
    std::string sequence;          ///< "8k"; "": the configuration's context
    std::string kv_dtype;          ///< "": bf16
    std::string weights;           ///< a dtype for all parameters; "": as the checkpoint has them
    bool list = false;             ///< the model types that are known, and nothing else
    bool program = false;          ///< the sized program, as text in the notation, and nothing else
    bool training = false;         ///< that of a training step, not of a forward pass
    std::string remat{};  ///< of a training step: "none", "selective", "alternate", "full" or names of tensors, "Q,Hm"
    bool layers = false;  ///< of a table: a line for each kind of layers, not for each part
    bool plot = false;
};

/// `roofline train`
struct TrainRequest {
    static constexpr bool by_machine = true;  ///< answered for the others where one machine cannot be
    NamedText config;                         ///< config.json, or a name and no text: a model that the program knows
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;  ///< "hbm.bandwidth=3TB/s"
    std::string batch_tokens;       ///< "4M": of one step, all chips together; "": none is given
    std::string sequence;           ///< "8k"; "": the configuration's context
    std::vector<std::string> mesh;  ///< "data=2,fsdp=16,tensor=8"; none: fsdp over all chips
    std::string zero;               ///< "2": the ZeRO stage, what the members of `data` share out; "": nothing
    std::string microbatches;       ///< "8": into how many parts a step's batch is cut; "": not at all
    std::string schedule;           ///< of a pipeline: "1f1b"; "": that one
    std::string remat;              ///< "none", "selective", "alternate", "full", "Hm,O"; "": none
    std::string optimizer;          ///< "adam", "adam,moments=bf16,master", "sgd"; "": adam with f32 moments
    std::string products;           ///< "fp8": in which products with parameters are computed; "": as they are stored
    std::string dispatch;       ///< "fp8": in which tokens and gradients are sent to experts; "": as they are stored
    std::string overlap;        ///< "expert": axes whose collectives run beside products; "": those of replicas alone
    std::string tokens;         ///< "15T": of the whole training; "": none is asked about
    std::optional<double> mfu;  ///< the utilisation that is assumed, in the place of a predicted step
    std::string price;          ///< "2.5": USD for a chip and hour; "": the machine's
    std::string software;       ///< "nccl-2.29": whose constants expected times are taken from; "": the newest
    CalibrationRef calibration{};
    bool textbook = false;  ///< collectives as people approximate them by hand
    bool explain = false;   ///< the step in full, as `roofline op --explain` derives it
    bool program = false;   ///< the program of a step, as text in the notation, and nothing else
    bool plot = false;      ///< the time line of a step
};

/// `roofline serve`
struct ServeRequest {
    static constexpr bool by_machine = true;  ///< answered for the others where one machine cannot be
    NamedText config;                         ///< config.json, or a name and no text: a model that the program knows
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;  ///< "hbm.bandwidth=3TB/s"
    std::vector<std::string> mesh;  ///< "data=2,tensor=8"; none: the fastest of a few that hold the batch
    std::string prompt;             ///< "8k": tokens of each request that go in
    std::string output;             ///< tokens that come out
    std::string batch;              ///< sequences that are decoded together
    std::string chunk{};            ///< tokens of a long prompt that are taken in together; "": 8192
    std::string weights;            ///< a dtype for all parameters; "": as the checkpoint has them
    std::string kv_dtype;           ///< "": bf16, or what the checkpoint asks for
    std::string price;              ///< "2.5": USD for a chip and hour; "": the machine's
    std::string software;           ///< "nccl-2.29": whose constants expected times are taken from; "": the newest
    CalibrationRef calibration{};
    bool textbook = false;       ///< collectives as people approximate them by hand
    bool disaggregated = false;  ///< prefill has slices of its own
    bool explain = false;        ///< a decode step in full, as `roofline op --explain` derives it
    bool plot = false;           ///< tokens/s against the time of a token, by batch
};

/// `roofline measure import`: figures that other tools measured, as a machine file.
struct ImportRequest {
    std::vector<NamedText> files;
    std::optional<MachineRef> base;   ///< whose figures stay where the files have none
    std::vector<std::string> levels;  ///< "L1=l2", "l3": where a tool names no level, or the wrong one
    std::string output;               ///< the machine file; "" to write nothing
    std::string date;                 ///< of taking the figures over, "2026-01-31"; "" when it is not to be said
};

/// `roofline trace`: kernels that somebody profiled, against a machine's roofline.
struct TraceRequest {
    NamedText profile;
    std::vector<MachineRef> machines;
    std::vector<std::string> sets;
    bool plot = false;
};

/// What can be asked.
using AnyRequest = std::variant<OpRequest, MachineRequest, ValidateRequest, FitRequest, ModelRequest, TrainRequest,
                                ServeRequest, ImportRequest, TraceRequest>;

struct Request {
    AnyRequest what;
    Format format = Format::text;
    bool color = false;
};

struct Response {
    int exit_code = 0;
    std::string out;  ///< the answer, or in JSON the error
    std::optional<Error> error;
    std::string svg;                 ///< the plot that was asked for
    std::vector<NamedText> files{};  ///< to be written
    std::vector<Error> beside{};     ///< of the machines that an answer about others leaves out
};

/// The handlers, one for each request. Errors: words that make no sense, files that cannot be read as what they are
/// named for, machines that are not known.
[[nodiscard]] Result<Response> handle(const OpRequest& request, Format format, bool color);
[[nodiscard]] Result<Response> handle(const MachineRequest& request, Format format);
[[nodiscard]] Result<Response> handle(const ModelRequest& request, Format format);
/// Exit code 1 where the plan does not fit the memory of a chip.
[[nodiscard]] Result<Response> handle(const TrainRequest& request, Format format);
/// Exit code 1 where the slice does not hold what is asked for; the answer then says what would.
[[nodiscard]] Result<Response> handle(const ServeRequest& request, Format format);
[[nodiscard]] Result<Response> handle(const TraceRequest& request, Format format);
/// Exit code 1 where the mean error is beyond what is asked for.
[[nodiscard]] Result<Response> handle(const ValidateRequest& request, Format format);
[[nodiscard]] Result<Response> handle(const FitRequest& request, Format format);
[[nodiscard]] Result<Response> handle(const ImportRequest& request, Format format);

/// Answers a request with its handler. Exit codes: 0 done, 1 a negative answer (no tile fits, a check failed), 2 the
/// request or its input is wrong.
[[nodiscard]] Response handle(const Request& request);

/// What a request that cannot be answered is answered with.
[[nodiscard]] Response failed_response(const Error& error, int exit_code, Format format);

}  // namespace roofline::core
