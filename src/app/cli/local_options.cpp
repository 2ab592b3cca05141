#include <string>
#include <utility>
#include <vector>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/local/this_machine.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* measure_examples = R"(examples:
  roofline measure cpu                 this machine's roofs, about a minute
  roofline measure cpu --quick         ten seconds
  mpirun -n 2 roofline measure network bandwidth between processes
  roofline measure gpu                 an NVIDIA GPU

)";

constexpr const char* run_examples = R"(examples:
  roofline run 'f32[B, D] * f32[D, F] -> f32[B, F]' --dims B=64,D=4096,F=4096     measured and predicted times
  roofline run 'int8[B, D] * int8[D, F] -> int32[B, F]' --dims D=4k,F=4k --sweep 'B=1..512*2'   the knee
  roofline run mlp.roof --sweep 'B=1..512*2' --plot sweep --svg mlp.svg
  roofline run attention.roof --dims B=1,T=512,S=512 --threads 1 --json
  mpirun -n 2 roofline run 'bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]' --mesh X=2 --dims B=512,D=4k,F=4k
  roofline run mlp.roof --dims B=512 --on gpu                  on an NVIDIA GPU

)";

void add_rank_timeout(CLI::App& app, double& seconds) {
    app.add_option("--rank-timeout", seconds,
                   "end the job if one exchange between ranks takes longer than this; default 300")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 1e6));
}

void add_measure(CLI::App& app, Line& line) {
    Words& words = line.words;
    MeasureRequest& measure = line.request<MeasureRequest>();
    app.add_option("part", words.part, "what to measure: cpu (default), network (under mpirun) or gpu")
        ->type_name("cpu|network|gpu")
        ->check(CLI::IsMember({"cpu", "network", "gpu"}));
    app.add_flag("--quick", words.quick, "about ten seconds instead of a minute");
    app.add_flag("--thorough", words.thorough, "more samples and sizes: some minutes");
    app.add_flag("--replace", measure.replace, "with --quick: replace the file even if it contains a full measurement");
    add_rank_timeout(app, measure.rank_timeout_s);
    app.add_option("-o,--output", measure.output, "machine file to write instead of the one that `--on this` reads")
        ->type_name("FILE.toml");
    add_formats(app, words);
}

void add_run(CLI::App& app, Line& line) {
    Words& words = line.words;
    RunRequest& run = line.request<RunRequest>();
    app.add_option("program", words.program, "the operation in the notation, a .roof file, or - for standard input")
        ->type_name("PROGRAM|FILE.roof")
        ->required();
    OpRequest& op = run.op;
    repeated(app, "--dims", op.dims, "sizes of dimensions; they override those in the text; k is 1000, Ki 1024",
             "B=256,D=8k");
    repeated(app, "--sweep", op.sweeps, "sizes to sweep; given twice, a grid; D=F=... keeps sizes equal", "B=1..512*2");
    repeated(app, "--mesh", op.mesh,
             "mesh axes that the program is sharded over, one rank per chip; start it with mpirun", "X=2,Y=2");
    repeated(app, "--on", words.on,
             "machine to predict for; default: this one as `roofline measure` found it. `gpu` runs on the GPU instead "
             "of the CPU",
             "MACHINE|gpu");
    repeated(app, "--set", op.sets, "what if: replace a figure of that machine, absolute or relative",
             "hbm.bandwidth=40GB/s|*2");
    add_calibration(app, words);
    app.add_option("--threads", run.threads, "number of threads, each on its own core; default: all cores")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    add_rank_timeout(app, run.rank_timeout_s);
    app.add_flag("--quick", words.quick, "fewer samples");
    app.add_flag("--thorough", words.thorough, "many samples");
    add_plots(app, line.plots, "measured and predicted times");
    app.add_option(
           "--plot", words.plot,
           "what --svg or --png draws: roofline (with the sweep's path) or sweep (FLOP/s against the swept size)")
        ->type_name("KIND");
    add_formats(app, words);
}

Result<Effort> effort_of(const Words& words) {
    if (words.quick && words.thorough) return fail("usage", "--quick and --thorough cannot be combined", "keep one");
    return words.quick ? Effort::quick : words.thorough ? Effort::thorough : Effort::normal;
}

Result<What> measure_request(Line& line) {
    MeasureRequest& measure = line.request<MeasureRequest>();
    const Words& words = line.words;
    ROOFLINE_TRY(measure.effort, effort_of(words));
    measure.part = words.part == "network" ? MeasureRequest::Part::network
                   : words.part == "gpu"   ? MeasureRequest::Part::gpu
                                           : MeasureRequest::Part::cpu;
    measure.date = today();
    if (measure.part != MeasureRequest::Part::gpu) {
        ROOFLINE_TRY(auto path, measure.output.empty() ? this_machine_path() : Result<std::string>(measure.output));
        if (auto text = read_file(path, Reading::to_replace))
            measure.before = NamedText{std::move(path), std::move(*text)};
    }
    return std::move(measure);
}

Result<What> run_request(Line& line) {
    RunRequest& run = line.request<RunRequest>();
    const Words& words = line.words;
    ROOFLINE_TRY(run.effort, effort_of(words));
    ROOFLINE_CHECK(check_plots(words, line.plots));
    run.page = line.plots.page();
    if (line.plots.plot()) {
        ROOFLINE_TRY(auto kind, plot_kind(words.plot));
        if (kind != PlotKind::roofline && kind != PlotKind::sweep) {
            return fail("usage", "a run can be plotted on a roofline or along a sweep",
                        "--plot roofline, or --plot sweep");
        }
        run.plot = kind;
    }
    ROOFLINE_CHECK(load_program(words.program, run.op));
    std::vector<std::string> on = words.on;
    run.on_gpu = std::erase(on, "gpu") > 0;
    auto machines = load_machines(on.empty() ? std::vector<std::string>{"this"} : on);
    if (machines) {
        run.op.machines = std::move(*machines);
    } else if (!on.empty() || machines.error().code != "no_machine") {
        return fail(machines.error());
    }
    ROOFLINE_TRY(run.op.calibration, load_calibrations(words.calibrations));
    return std::move(run);
}

}  // namespace

const Command measure_command{"measure", "measure the rooflines of this machine and write a machine file",
                              measure_examples, add_measure, measure_request};
const Command run_command{"run", "run a program on this machine and compare it with the prediction", run_examples,
                          add_run, run_request};

}  // namespace roofline::core::cli
