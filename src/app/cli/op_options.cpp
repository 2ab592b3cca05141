// The options of `roofline op`.
#include "app/cli/commands.hpp"

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

void add_op(CLI::App& app, Line& line) {
    OpRequest& op = line.request<OpRequest>();
    Words& words = line.words;
    app.add_option("program", words.program, "the operation in the notation, a .roof file, or - for standard input")
        ->type_name("PROGRAM|FILE.roof")
        ->required();
    repeated(app, "--on", words.on,
             "machine: a name (see `roofline machine`), a slice such as tpu-v5e:4x4 or h100-sxm:8x4, or a\nmachine "
             "file; repeat for one column per machine",
             "MACHINE");
    repeated(app, "--dims", op.dims, "sizes of dimensions; they override those in the text; k is 1000, Ki 1024",
             "B=256,D=8k");
    repeated(app, "--mesh", op.mesh,
             "sizes of mesh axes; their product is the number of chips of the slice. `X=4 on ici.1` places an axis",
             "X=4,Y=4");
    repeated(app, "--set", op.sets, "what if: replace a figure of the machine, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    repeated(app, "--sweep", op.sweeps,
             "sizes to sweep; given twice, a grid; D=F=... keeps sizes equal. Or any figure of --set:\n"
             "hbm.bandwidth=2TB/s..16TB/s*1.5",
             "B=1..4096*2");
    repeated(app, "--tile", op.tiles,
             "tile sizes in the on-chip level next to main memory, or in the named level; best: search for them",
             "[LEVEL:]B=128,F=256|best");
    app.add_option("--expert-groups", op.expert_groups,
                   "node-limited routing: number of expert groups per token / number of groups")
        ->type_name("4/8");
    app.add_option(
           "--software", op.software,
           "library, with or without version, whose measurements expected times are based on; default: the newest")
        ->type_name("nccl-2.29");
    add_calibration(app, words);
    app.add_flag(
        "--textbook", op.textbook,
        "textbook approximation of collectives: every torus axis is a wrapped ring, without the factor (n-1)/n");
    app.add_flag("--explain", op.explain, "show the derivation: formulas, substituted sizes, constants with sources");
    app.add_flag("--exact-flops", op.exact_flops, "count BF(2D-1) instead of 2BDF FLOPs for a sum of D products");
    add_plots(app, line.plots, "a plot");
    app.add_option(
           "--plot", words.plot,
           "what --svg or --png draws: roofline (with the sweep's path), sweep (FLOP/s against the swept\nsize), "
           "mesh (which chip holds which blocks), or timeline (statements, one lane per resource)")
        ->type_name("KIND");
    app.add_flag("--all-roofs", op.all_roofs,
                 "plot all roofs of the machine, including those that this program does not use");
    add_formats(app, words);
}

Result<What> op_request(Line& line) {
    OpRequest& op = line.request<OpRequest>();
    const Words& words = line.words;
    ROOFLINE_CHECK(load_program(words.program, op));
    ROOFLINE_TRY(op.machines, load_machines(words.on));
    ROOFLINE_TRY(op.calibration, load_calibrations(words.calibrations));
    ROOFLINE_CHECK(check_plots(words, line.plots));
    op.page = line.plots.page();
    if (line.plots.plot()) {
        ROOFLINE_TRY(op.plot, plot_kind(words.plot));
    }
    return std::move(op);
}

}  // namespace

const Command op_command{"op", "work, bounds and expected time of an operation or program", op_examples, add_op,
                         op_request};

}  // namespace roofline::core::cli
