#include <utility>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* hlo_examples = R"(examples:
  python -c 'print(jax.jit(step).lower(*args).compile().as_text())' > step.hlo
  roofline hlo step.hlo --on h100-sxm:8              what takes longest, what bounds it, and which line it comes from
  roofline hlo step.hlo --on tpu-v5p:2x2x2 --json    every kernel, by line and by scope
  roofline hlo step.mlir --on h100-sxm               StableHLO: lowered.as_text()
  roofline hlo step.json --on h100-sxm               a graph of PyTorch: roofline.torch_graph(module, args)
  roofline hlo net.onnx --dims batch=32 --on l4      an ONNX model
  roofline hlo step.mlir --on tpu-v5p:2x2x2          with shardings (lowered, not compiled): laid out over the chips
  roofline hlo step.hlo --cost xla                   counts as XLA's own cost analysis gives them
  roofline hlo step.hlo --on h100-sxm:8 --set hbm.bandwidth=*2
  roofline hlo step.hlo --program                    the module in roofline's notation

)";

void add_hlo(CLI::App& app, Line& line) {
    HloRequest& hlo = line.request<HloRequest>();
    Words& words = line.words;
    app.add_option(
           "module", words.table,
           "HLO text (compiled.as_text(), --xla_dump_to), an HLO proto (--xla_dump_hlo_as_proto), StableHLO text\n"
           "(lowered.as_text()), an ONNX model or a graph of PyTorch (roofline.torch_graph() in Python), also packed\n"
           "by gzip; or - for standard input")
        ->type_name("FILE")
        ->required();
    repeated(app, "--on", words.on, "machine or slice with as many chips as the module has devices", "MACHINE[:SHAPE]");
    repeated(app, "--set", hlo.sets, "what if: replace a figure of the machines, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    app.add_option("--cost", hlo.cost,
                   "rules by which work is counted: ours multiplies loops and prices custom calls; xla and xla-gpu\n"
                   "count as XLA's HloCostAnalysis and GpuHloCostAnalysis, without times")
        ->type_name("ours|xla|xla-gpu");
    app.add_option("--trace", words.profile,
                   "profile of a run of the module (jax.profiler: .xplane.pb, .trace.json.gz): measured times beside\n"
                   "the expected ones")
        ->type_name("FILE");
    app.add_flag("--count-multiple-input-accesses", hlo.count_multiple_input_accesses,
                 "of XLA's analyses: an operand that a fusion reads several times counts each time");
    repeated(app, "--loops", hlo.loops,
             "trip count of a loop, where the module does not state it or states another one", "NAME=COUNT");
    repeated(app, "--dims", hlo.dims, "sizes of dimensions that an ONNX model only names; k is 1000, Ki 1024",
             "batch=32,seq=128");
    repeated(app, "--mesh", hlo.mesh,
             "axes over which a module from before partitioning is laid out, outermost first; default: its own. Other\n"
             "sizes for axes of its own mesh lay it out over as many devices",
             "data=4,model=2");
    app.add_flag(
        "--program", hlo.program,
        "print only the program in the notation: what op, with --dims, --tile or another machine, can go on with");
    app.add_option("--software", hlo.software, "software whose calibration is used; default: the newest")
        ->type_name("NAME");
    add_calibration(app, words);
    add_plots(app, line.plots, "the roofline with the kernels on it");
    add_formats(app, words);
}

Result<What> hlo_request(Line& line) {
    HloRequest& hlo = line.request<HloRequest>();
    const Words& words = line.words;
    ROOFLINE_CHECK(check_plots(words, line.plots));
    ROOFLINE_TRY(auto text, read_file(words.table));
    hlo.module = {words.table == "-" ? "standard input" : words.table, std::move(text)};
    if (!words.profile.empty()) {
        hlo.profile = NamedFile{words.profile, [path = words.profile] { return open_file(path); }};
    }
    ROOFLINE_TRY(hlo.machines, load_machines(words.on));
    ROOFLINE_TRY(hlo.calibration, load_calibrations(words.calibrations));
    hlo.plot = line.plots.plot();
    hlo.page = line.plots.page();
    return std::move(hlo);
}

}  // namespace

const Command hlo_command{"hlo", "what an XLA module costs: every kernel against its roofline", hlo_examples, add_hlo,
                          hlo_request};

}  // namespace roofline::core::cli
