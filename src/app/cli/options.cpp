#include "app/cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/cli/files.hpp"
#include "app/cli/local_options.hpp"
#include "app/cli/words.hpp"

namespace roofline::cli {

namespace {

constexpr const char* examples = R"(examples:
  roofline op 'bf16[B, D] * bf16[D, F] -> bf16[B, F]' --dims B=256,D=8k,F=8k --on tpu-v5e
  roofline op 'bf16[B, D] * int8[D, F] -> bf16[B, F]' --dims B=64,D=8192,F=8192 --on h100-sxm --explain
  roofline op mlp.roof --on tpu-v5e --on h200 --md
  roofline op mlp.roof --on h100-sxm --sweep 'B=1..4096*2' --png roofline.png
  roofline op mlp.roof --on h100-sxm --set 'hbm.bandwidth=*2' --json
  roofline machine                     all machines
  roofline machine h100-sxm            one, every figure with its source
  roofline machine tpu-v5e h200 my.toml   side by side
  roofline model config.json           parameters, FLOPs and memory of a Transformer
  roofline validate all_reduce.csv     predictions beside measurements
  roofline fit all_reduce.csv -o .     constants of expected times from measurements
)";

constexpr const char* exits = R"(
Exit status: 0 done; 1 nothing fits, a check failed, or a file could not be written; 2 the request or its input is wrong.
)";

constexpr const char* op_examples = R"(examples:
  roofline op 'bf16[B, D] * bf16[D, F] -> bf16[B, F]' --on tpu-v5e                  formulas
  roofline op 'bf16[B, D] * bf16[D, F] -> bf16[B, F]' --dims B=64,D=8k,F=8k --on h100-sxm   numbers
  roofline op attention.roof --on tpu-v5p --explain                                  the derivation
  roofline op 'bf16[B, D] * bf16[D, F] -> bf16[B, F]' --dims D=4096,F=4096 --sweep 'B=1..4096*2' --on h200
  roofline op 'bf16[B, D] * bf16[D, F] -> bf16[B, F]' --dims B=4k,D=4k,F=4k --on tpu-v5e --tile best
  roofline op - --on tpu-v5e < block.roof

)";

constexpr const char* machine_examples = R"(examples:
  roofline machine
  roofline machine tpu-v5e
  roofline machine tpu-v5e:4x4 h100-sxm:8x16   slices: wires, sums, collectives
  roofline machine h100-sxm h200 b200-sxm --md
  roofline machine my.toml --set hbm.bandwidth=3TB/s

)";

constexpr const char* model_examples = R"(examples:
  roofline model config.json                             parameters, FLOPs a token, KV cache, memory
  roofline model llama-3.1-70b --seq 8k                  one that the program knows; --list names them
  roofline model config.json --weights int8 --kv-dtype fp8
  roofline model config.json --md --layers               a line for each kind of layers
  roofline model config.json --png model.png             where parameters and FLOPs go
  roofline model config.json --seq 4k --program | roofline op - --on h100-sxm

)";

constexpr const char* validate_examples = R"(examples:
  roofline validate all_reduce.csv                        errors by system, operation and size
  roofline validate all_reduce.csv --on h100-sxm          rows without a system, or of one under another name
  roofline validate all_reduce.csv --on h100-sxm:8x2 --set ib.bandwidth=25GB/s
  roofline validate all_reduce.csv --png errors.png       predicted against measured
  roofline validate all_reduce.csv --csv                  a line for each row, predicted beside measured
  roofline validate all_reduce.csv --max-error 10%        exit status 1 when the mean error is beyond it

)";

constexpr const char* fit_examples = R"(examples:
  roofline fit all_reduce.csv                              errors in and out of sample; writes nothing
  roofline fit a.csv b.csv -o data/calibration             a file for each machine
  roofline fit my_cluster.csv --on h100-sxm -o h100.toml   all rows are of one machine
  roofline fit a.csv --csv                                 a line for each law

)";

void add_op(CLI::App& app, OpRequest& op, Words& words, PlotFiles& plots) {
    app.add_option("program", words.program, "the operation in the notation, a .roof file, or - for standard input")
        ->type_name("PROGRAM|FILE.roof")
        ->required();
    repeated(app, "--on", words.on,
             "the machine: a name (see `roofline machine`), a slice such as tpu-v5e:4x4 or h100-sxm:8x4, or a\nmachine "
             "file; given again, columns",
             "MACHINE");
    repeated(app, "--dims", op.dims, "sizes of dimensions; they win over those in the text; k is 1000, Ki 1024",
             "B=256,D=8k");
    repeated(app, "--mesh", op.mesh,
             "sizes of mesh axes, which multiply to the chips of the slice; `X=4 on ici.1` says where", "X=4,Y=4");
    repeated(app, "--set", op.sets, "what if: another figure, absolute or relative", "hbm.bandwidth=3TB/s|*2");
    repeated(app, "--sweep", op.sweeps, "sizes to go through; given twice, a grid; D=F=... keeps sizes equal",
             "B=1..4096*2");
    repeated(app, "--tile", op.tiles, "tile sizes, held in the level next to main memory or the one named; or best",
             "[LEVEL:]B=128,F=256|best");
    app.add_option(
           "--software", op.software,
           "the library whose measured times collectives are expected to take, and its version; the newest\nif it "
           "is not named")
        ->type_name("nccl-2.29");
    add_calibration(app, words);
    app.add_flag("--textbook", op.textbook,
                 "collectives as approximated by hand: every torus axis a wrapped ring, no (n-1)/n");
    app.add_flag("--explain", op.explain, "the derivation: formulas, sizes put in, constants with sources");
    app.add_flag("--exact-flops", op.exact_flops, "count BF(2D-1) for a sum of D products instead of 2BDF");
    add_plots(app, plots, "a plot");
    app.add_option(
           "--plot", words.plot,
           "what --svg or --png draws: roofline (with the sweep's path), sweep (FLOP/s against the swept\nsize), "
           "mesh (which chip holds what), or timeline (one step, a lane for each resource)")
        ->type_name("KIND");
    add_formats(app, words);
}

void add_validate(CLI::App& app, ValidateRequest& validate, Words& words, PlotFiles& plots) {
    app.add_option("table", words.table, "measured times, as CSV (docs/validate.md has the columns), or -")
        ->type_name("FILE.csv")
        ->required();
    repeated(app, "--on", words.on,
             "the machine, slice or machine file that all rows were measured on, whatever they say", "MACHINE");
    repeated(app, "--set", validate.sets, "what if: another figure of that machine, absolute or relative",
             "nvlink.bandwidth=400GB/s|*2");
    add_calibration(app, words);
    app.add_option("--max-error", words.max_error, "the mean error that is still good: 10% or 0.1")->type_name("ERROR");
    add_plots(app, plots, "predicted against measured");
    add_formats(app, words);
}

void add_model(CLI::App& app, ModelRequest& model, Words& words, PlotFiles& plots) {
    app.add_option("model", words.model,
                   "a configuration (config.json of a checkpoint), - for standard input, or a name")
        ->type_name("CONFIG.json|NAME");
    app.add_option("--seq", model.sequence, "tokens of a sequence; the configuration's context if it is not given")
        ->type_name("TOKENS");
    app.add_option("--kv-dtype", model.kv_dtype, "the dtype of the KV cache; bf16 if it is not given")
        ->type_name("DTYPE");
    app.add_option("--weights", model.weights,
                   "the dtype of every parameter; as the checkpoint has them if it is not given")
        ->type_name("DTYPE");
    app.add_option("--quantisation", words.quantisation, "what is quantised, where a file of its own says it")
        ->type_name("hf_quant_config.json");
    app.add_flag("--layers", model.layers, "with --csv or --md: a line for each kind of layers, not for each part");
    app.add_flag("--program", model.program, "print the sized program in the notation, and nothing else");
    app.add_flag("--list", model.list, "print the names and model types that are known, and nothing else");
    add_plots(app, plots, "where parameters and FLOPs go");
    add_formats(app, words);
}

void add_fit(CLI::App& app, FitRequest& fit, Words& words) {
    app.add_option("tables", words.tables, "measured times, as CSV (docs/validate.md has the columns)")
        ->type_name("FILE.csv")
        ->required();
    repeated(app, "--on", words.on,
             "the machine, slice or machine file that all rows were measured on, whatever they say", "MACHINE");
    repeated(app, "--set", fit.sets, "what if: another figure of that machine, absolute or relative",
             "nvlink.bandwidth=400GB/s|*2");
    app.add_option("-o,--output", fit.output, "a directory for a file a machine, or a .toml file for the only one")
        ->type_name("DIR|FILE.toml");
    app.add_option("--date", fit.date, "the day of the fit that the files name; today if it is not given")
        ->type_name("YYYY-MM-DD");
    add_formats(app, words);
}

// CLI11's complaint in our words, with the nearest option or command where one was mistyped.
Error usage_error(const CLI::App& app, const CLI::ParseError& problem, const std::vector<std::string>& arguments) {
    const CLI::App* command = &app;
    for (const CLI::App* sub : app.get_subcommands()) command = sub;
    Error error{"usage", problem.what(), "", {}};
    while (!error.message.empty() && (error.message.back() == '\n' || error.message.back() == '.'))
        error.message.pop_back();
    const std::string help =
        command == &app ? "roofline --help" : fmt::format("roofline {} --help", command->get_name());
    error.hint = fmt::format("see {}", help);
    if (command == &app && !arguments.empty() && !arguments.front().starts_with("-")) {
        std::vector<std::string> commands;
        for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
            commands.push_back(sub->get_name());
        error.message = fmt::format("no command `{}`", arguments.front());
        error.hint = did_you_mean(arguments.front(), commands, error.hint);
        return error;
    }
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options()) known.push_back(option->get_name());
    for (const std::string& word : arguments) {
        const std::string name = word.substr(0, word.find('='));
        if (word.starts_with("--") && std::find(known.begin(), known.end(), name) == known.end()) {
            error.message = fmt::format("no option `{}`", name);
            error.hint = did_you_mean(name, known, error.hint);
            break;
        }
    }
    return error;
}

Result<ValidateRequest> validate_request(ValidateRequest validate, const Words& words, const PlotFiles& plots) {
    if (auto status = check_plots(words, plots); !status) return fail(status.error());
    if (!words.max_error.empty()) {
        const auto fraction = parse_fraction(words.max_error);
        if (!fraction) return fail(fraction.error());
        validate.max_error = *fraction;
    }
    auto table = read_file(words.table);
    if (!table) return fail(table.error());
    validate.table = std::move(*table);
    validate.table_name = words.table == "-" ? "standard input" : words.table;
    auto machines = load_machines(words.on);
    if (!machines) return fail(machines.error());
    validate.machines = std::move(*machines);
    auto calibration = load_calibrations(words.calibrations);
    if (!calibration) return fail(calibration.error());
    validate.calibration = std::move(*calibration);
    validate.plot = !plots.svg.empty() || !plots.png.empty();
    return validate;
}

Result<FitRequest> fit_request(FitRequest fit, const Words& words) {
    for (const std::string& path : words.tables) {
        auto text = read_file(path);
        if (!text) return fail(text.error());
        fit.tables.push_back({path == "-" ? "standard input" : path, std::move(*text)});
    }
    auto machines = load_machines(words.on);
    if (!machines) return fail(machines.error());
    fit.machines = std::move(*machines);
    if (fit.output == "-") return fail("usage", "constants go to files; standard output has the answer", "-o DIR");
    if (fit.date.empty()) fit.date = today();
    return fit;
}

Result<ModelRequest> model_request(ModelRequest model, const Words& words, const PlotFiles& plots) {
    if (auto status = check_plots(words, plots); !status) return fail(status.error());
    model.plot = !plots.svg.empty() || !plots.png.empty();
    if (model.list) return model;
    if (words.model.empty())
        return fail("usage", "no model is named", "name its config.json; see roofline model --help");
    model.config.name = words.model == "-" ? "standard input" : words.model;
    if (words.model == "-" || words.model.ends_with(".json") || words.model.find('/') != std::string::npos) {
        auto text = read_file(words.model);
        if (!text) return fail(text.error());
        model.config.text = std::move(*text);
    }
    if (!words.quantisation.empty()) {
        auto text = read_file(words.quantisation);
        if (!text) return fail(text.error());
        model.quantisation = {words.quantisation, std::move(*text)};
    }
    return model;
}

std::string help_of(const CLI::App& app, const char* first) { return first + app.help("roofline"); }

}  // namespace

Result<Parsed> parse_arguments(const std::vector<std::string>& arguments, bool& json) {
    json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    CLI::App app{"How long should a deep-learning computation take, what limits it, and what would change that.",
                 "roofline"};
    app.set_help_flag();
    bool help = false;
    bool version = false;
    app.add_flag("-h,--help", help, "this text");
    app.add_flag("--version", version, "the version");
    app.require_subcommand(0, 1);
    app.get_formatter()->column_width(34);

    OpRequest op;
    MachineRequest machine;
    ValidateRequest validate;
    FitRequest fit;
    ModelRequest model;
    MeasureRequest measure;
    RunRequest run;
    Words words;
    Parsed parsed;
    CLI::App* op_command = app.add_subcommand("op", "cost and bounds of an operation or program");
    CLI::App* machine_command =
        app.add_subcommand("machine", "list, show and compare machines, every figure with its source");
    CLI::App* model_command = app.add_subcommand("model", "parameters, FLOPs and memory of a Transformer");
    CLI::App* validate_command =
        app.add_subcommand("validate", "predictions against measurements: errors, worst rows, plot");
    CLI::App* fit_command = app.add_subcommand("fit", "constants of expected times from measurements");
    CLI::App* measure_command =
        app.add_subcommand("measure", "this machine's own rooflines, written as a machine file");
    CLI::App* run_command = app.add_subcommand("run", "execute a program here, beside what was predicted");
    for (CLI::App* command :
         {op_command, machine_command, model_command, validate_command, fit_command, measure_command, run_command}) {
        command->set_help_flag();
        command->add_flag("-h,--help", help, "this text");
    }
    add_op(*op_command, op, words, parsed.plots);
    machine_command->add_option("names", words.names, "names or machine files; none lists all")->type_name("NAME");
    repeated(*machine_command, "--set", machine.sets, "what if: another figure, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    add_formats(*machine_command, words);

    add_model(*model_command, model, words, parsed.plots);
    add_validate(*validate_command, validate, words, parsed.plots);
    add_fit(*fit_command, fit, words);
    add_measure(*measure_command, measure, words);
    add_run(*run_command, run, words, parsed.plots);

    // Help needs no other argument to be right.
    const bool wants_help = std::any_of(arguments.begin(), arguments.end(),
                                        [](const std::string& word) { return word == "-h" || word == "--help"; });
    if (wants_help || arguments.empty()) {
        const std::string command = arguments.empty() ? "" : arguments.front();
        parsed.print = command == "op"         ? help_of(*op_command, op_examples)
                       : command == "machine"  ? help_of(*machine_command, machine_examples)
                       : command == "model"    ? help_of(*model_command, model_examples)
                       : command == "validate" ? help_of(*validate_command, validate_examples)
                       : command == "fit"      ? help_of(*fit_command, fit_examples)
                                               : fmt::format("{}\n{}{}", examples, app.help(), exits);
        return parsed;
    }
    try {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
        app.parse(reversed);
    } catch (const CLI::ParseError& problem) {
        return fail(usage_error(app, problem, arguments));
    }
    if (version) {
        parsed.print = fmt::format("roofline {}\n", ROOFLINE_VERSION);
        return parsed;
    }
    auto format = format_of(words);
    if (!format) return fail(format.error());
    Request request;
    request.format = *format;
    request.color = color_wanted(words.color);
    if (measure_command->parsed() || run_command->parsed()) {
        auto what = measure_command->parsed() ? measure_request(std::move(measure), words)
                                              : run_request(std::move(run), words, parsed.plots);
        if (!what) return fail(what.error());
        parsed.local = LocalRequest{std::move(*what), request.format, request.color};
        return parsed;
    }
    if (machine_command->parsed()) {
        auto machines = load_machines(words.names);
        if (!machines) return fail(machines.error());
        machine.machines = std::move(*machines);
        request.what = std::move(machine);
    } else if (model_command->parsed()) {
        auto what = model_request(std::move(model), words, parsed.plots);
        if (!what) return fail(what.error());
        request.what = std::move(*what);
    } else if (fit_command->parsed()) {
        auto what = fit_request(std::move(fit), words);
        if (!what) return fail(what.error());
        request.what = std::move(*what);
    } else if (validate_command->parsed()) {
        auto what = validate_request(std::move(validate), words, parsed.plots);
        if (!what) return fail(what.error());
        request.what = std::move(*what);
    } else {
        if (auto status = load_program(words.program, op); !status) return fail(status.error());
        auto machines = load_machines(words.on);
        if (!machines) return fail(machines.error());
        op.machines = std::move(*machines);
        auto calibration = load_calibrations(words.calibrations);
        if (!calibration) return fail(calibration.error());
        op.calibration = std::move(*calibration);
        if (auto status = check_plots(words, parsed.plots); !status) return fail(status.error());
        if (!parsed.plots.svg.empty() || !parsed.plots.png.empty()) {
            auto kind = plot_kind(words.plot);
            if (!kind) return fail(kind.error());
            op.plot = *kind;
        }
        request.what = std::move(op);
    }
    parsed.request = std::move(request);
    return parsed;
}

}  // namespace roofline::cli
