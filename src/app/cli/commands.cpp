#include "app/cli/commands.hpp"

#include <array>
#include <utility>

#include "app/cli/completion.hpp"
#include "app/cli/files.hpp"
#include "machine/catalogue.hpp"

namespace roofline::core::cli {

namespace {

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
  roofline machine my.toml --ert roofline.json --rocprof roofline.csv   for other tools

)";

constexpr const char* validate_examples = R"(examples:
  roofline validate all_reduce.csv                        errors by system, operation and size
  roofline validate all_reduce.csv --on h100-sxm          rows without a system, or of one under another name
  roofline validate all_reduce.csv --on h100-sxm:8x2 --set ib.bandwidth=25GB/s
  roofline validate all_reduce.csv --png errors.png       predicted against measured
  roofline validate nccl_tests.txt --on h100-sxm:8        what nccl-tests print, as text or as JSON (-J)
  roofline validate all_reduce.csv --csv                  a line for each row, predicted beside measured
  roofline validate all_reduce.csv --max-error 10%        exit status 1 when the mean error is beyond it

)";

constexpr const char* fit_examples = R"(examples:
  roofline fit all_reduce.csv                              errors in and out of sample; writes nothing
  roofline fit a.csv b.csv -o data/calibration             a file for each machine
  roofline fit my_cluster.csv --on h100-sxm -o h100.toml   all rows are of one machine
  roofline fit served.csv -o servers.toml                  what servers add to their kernels
  roofline fit a.csv --csv                                 a line for each law

)";

void add_op(CLI::App& app, Line& line) {
    OpRequest& op = line.op;
    Words& words = line.words;
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
    app.add_option("--expert-groups", op.expert_groups,
                   "groups of experts that each token is limited to, of how many (node-limited routing)")
        ->type_name("4/8");
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
    add_plots(app, line.plots, "a plot");
    app.add_option(
           "--plot", words.plot,
           "what --svg or --png draws: roofline (with the sweep's path), sweep (FLOP/s against the swept\nsize), "
           "mesh (which chip holds what), or timeline (one step, a lane for each resource)")
        ->type_name("KIND");
    app.add_flag("--all-roofs", op.all_roofs,
                 "a roofline with all roofs of the machine, also those that nothing here uses");
    add_formats(app, words);
}

void add_machine(CLI::App& app, Line& line) {
    app.add_option("names", line.words.names, "names or machine files; none lists all")->type_name("NAME");
    repeated(app, "--set", line.machine.sets, "what if: another figure, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    app.add_option("--ert", line.machine.ert, "write the one machine as the Empirical Roofline Tool's roofline.json")
        ->type_name("FILE");
    app.add_option("--rocprof", line.machine.rocprof, "write the one machine as rocprof-compute's roofline.csv")
        ->type_name("FILE");
    add_formats(app, line.words);
}

void add_collective(CLI::App& app, std::string& collective) {
    app.add_option("--collective", collective, "what nccl-tests timed, where their output does not say")
        ->type_name("all-gather");
}

void add_validate(CLI::App& app, Line& line) {
    ValidateRequest& validate = line.validate;
    Words& words = line.words;
    app.add_option(
           "table", words.table,
           "measured times, as CSV (docs/reference/tables.md has the columns) or as nccl-tests print them,\nor -")
        ->type_name("FILE.csv")
        ->required();
    repeated(app, "--on", words.on,
             "the machine, slice or machine file that all rows were measured on, whatever they say", "MACHINE");
    repeated(app, "--set", validate.sets, "what if: another figure of that machine, absolute or relative",
             "nvlink.bandwidth=400GB/s|*2");
    add_collective(app, validate.collective);
    app.add_flag("--strict", validate.strict,
                 "a cell that is no number is an error; else its row is left out, and counted");
    add_calibration(app, words);
    app.add_option("--max-error", words.max_error, "the mean error that is still good: 10% or 0.1")->type_name("ERROR");
    add_plots(app, line.plots, "predicted against measured");
    add_formats(app, words);
}

void add_fit(CLI::App& app, Line& line) {
    FitRequest& fit = line.fit;
    Words& words = line.words;
    app.add_option("tables", words.tables,
                   "measured times, as CSV (docs/reference/tables.md has the columns) or as nccl-tests print them")
        ->type_name("FILE.csv")
        ->required();
    repeated(app, "--on", words.on,
             "the machine, slice or machine file that all rows were measured on, whatever they say", "MACHINE");
    repeated(app, "--set", fit.sets, "what if: another figure of that machine, absolute or relative",
             "nvlink.bandwidth=400GB/s|*2");
    add_collective(app, fit.collective);
    app.add_flag("--strict", fit.strict, "a cell that is no number is an error; else its row is left out, and counted");
    app.add_option("-o,--output", fit.output, "a directory for a file a machine, or a .toml file for the only one")
        ->type_name("DIR|FILE.toml");
    app.add_option("--date", fit.date, "the day of the fit that the files name; today if it is not given")
        ->type_name("YYYY-MM-DD");
    add_formats(app, words);
}

Result<What> op_request(Line& line) {
    OpRequest& op = line.op;
    const Words& words = line.words;
    ROOFLINE_CHECK(load_program(words.program, op));
    ROOFLINE_TRY(op.machines, load_machines(words.on));
    ROOFLINE_TRY(op.calibration, load_calibrations(words.calibrations));
    ROOFLINE_CHECK(check_plots(words, line.plots));
    if (!line.plots.svg.empty() || !line.plots.png.empty()) {
        ROOFLINE_TRY(op.plot, plot_kind(words.plot));
    }
    return std::move(op);
}

Result<What> machine_request(Line& line) {
    ROOFLINE_TRY(line.machine.machines, load_machines(line.words.names));
    if (line.machine.ert == "-" || line.machine.rocprof == "-") {
        return fail("usage", "a machine goes to a file; standard output says what is in it",
                    "name one: --ert roofline.json");
    }
    return std::move(line.machine);
}

Result<What> validate_request(Line& line) {
    ValidateRequest& validate = line.validate;
    const Words& words = line.words;
    const PlotFiles& plots = line.plots;
    ROOFLINE_CHECK(check_plots(words, plots));
    if (!words.max_error.empty()) {
        ROOFLINE_TRY(validate.max_error,
                     parse_fraction(words.max_error, "error to stay below", "write --max-error 10% or 0.1"));
    }
    ROOFLINE_TRY(auto table, read_file(words.table));
    validate.table = std::move(table);
    validate.table_name = words.table == "-" ? "standard input" : words.table;
    ROOFLINE_TRY(validate.machines, load_machines(words.on));
    ROOFLINE_TRY(validate.calibration, load_calibrations(words.calibrations));
    validate.plot = !plots.svg.empty() || !plots.png.empty();
    return std::move(validate);
}

Result<What> fit_request(Line& line) {
    FitRequest& fit = line.fit;
    const Words& words = line.words;
    for (const std::string& path : words.tables) {
        ROOFLINE_TRY(auto text, read_file(path));
        fit.tables.push_back({path == "-" ? "standard input" : path, std::move(text)});
    }
    ROOFLINE_TRY(fit.machines, load_machines(words.on));
    if (fit.output == "-") return fail("usage", "constants go to files; standard output has the answer", "-o DIR");
    if (fit.date.empty()) fit.date = today();
    return std::move(fit);
}

constexpr const char* completion_examples = R"(examples:
  source <(roofline completion bash)                        in ~/.bashrc
  roofline completion zsh > "${fpath[1]}/_roofline"
  roofline completion fish > ~/.config/fish/completions/roofline.fish

)";

void add_completion(CLI::App& app, Line& line) {
    app.add_option("shell", line.shell, "bash, zsh or fish")->type_name("SHELL")->required();
}

Result<What> completion_request(Line& line) {
    ROOFLINE_TRY(auto script, completion_script(*line.app, line.shell, machine_ids()));
    return script;
}

}  // namespace

std::span<const Command> commands() {
    static constexpr std::array<Command, 12> all{{
        {"op", "cost and bounds of an operation or program", op_examples, add_op, op_request},
        {"machine", "list, show and compare machines, every figure with its source", machine_examples, add_machine,
         machine_request},
        {"model", "parameters, FLOPs and memory of a Transformer", model_examples, add_model, model_request},
        {"train", "step time, memory and cost of training a model on a slice", train_examples, add_train,
         train_request},
        {"serve", "prefill, decode, memory and cost of serving a model on a slice", serve_examples, add_serve,
         serve_request},
        {"trace", "every kernel of a recorded profile against its roofline", trace_examples, add_trace, trace_request},
        {"validate", "predictions against measurements: errors, worst rows, plot", validate_examples, add_validate,
         validate_request},
        {"fit", "constants of expected times from measurements", fit_examples, add_fit, fit_request},
        {"measure", "this machine's own rooflines, written as a machine file", measure_examples, add_measure,
         measure_request},
        {"measure import", "figures that other tools measured, as a machine file", import_examples, add_import,
         import_request},
        {"run", "execute a program here, beside what was predicted", run_examples, add_run, run_request},
        {"completion", "completion of commands, options and machines for a shell", completion_examples, add_completion,
         completion_request},
    }};
    return all;
}

}  // namespace roofline::core::cli
