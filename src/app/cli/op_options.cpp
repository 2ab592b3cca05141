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

Result<What> op_request(Line& line) {
    OpRequest& op = line.request<OpRequest>();
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

}  // namespace

const Command op_command{"op", "cost and bounds of an operation or program", op_examples, add_op, op_request};

}  // namespace roofline::core::cli
