#include <utility>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* import_examples = R"(examples:
  roofline measure import roofline.csv --base mi300x -o my-mi300x.toml   rocprof-compute's roofs over the data sheet's
  roofline measure import roofline.json --level L1=l2 -o gpu.toml        ERT, which takes a GPU's L2 for an L1
  roofline measure import load.txt triad.txt peak.txt --base epyc-9654   likwid-bench: levels by their sizes
  roofline measure import stream.txt                                     what it says; writes nothing

)";

constexpr const char* trace_examples = R"(examples:
  roofline trace step.json.gz --on h100-sxm:8                   torch.profiler or jax.profiler: where a step's time goes
  roofline trace rank0.json rank1.json --on h100-sxm:8          the traces of several ranks: who waits for whom
  roofline trace step.json --on h100-sxm:8 --model config.json --batch-tokens 64Ki --seq 4096 --mesh fsdp=8
                                                                compare the recorded step with that of a plan
  ncu --set roofline --page raw --csv --log-file kernels.csv ./my_program
  roofline trace kernels.csv --on h100-sxm                     each kernel's time, FLOPs and bytes against its roof
  roofline trace kernels.csv --on h100-sxm --svg roofline.svg  the kernels on the roofline
  roofline trace kernels.csv --on h100-sxm --csv               all of them, in SI units

)";

void add_import(CLI::App& app, Line& line) {
    ImportRequest& import = line.request<ImportRequest>();
    Words& words = line.words;
    app.add_option("files", words.tables,
                   "rocprof-compute's roofline.csv, ERT's roofline.json, or the output of likwid-bench, STREAM or\n"
                   "BabelStream; the contents say which")
        ->type_name("FILE")
        ->required();
    app.add_option("--base", words.base,
                   "machine whose remaining figures are kept; default: only the figures of the files")
        ->type_name("MACHINE");
    repeated(app, "--level", import.levels,
             "memory level that a name of the tool stands for (L1=l2), or that of runs without a name (l2)",
             "[NAME=]LEVEL");
    app.add_option("-o,--output", import.output, "the machine file to write")->type_name("FILE.toml");
    app.add_option("--date", import.date, "date to write into the file; default: today")->type_name("YYYY-MM-DD");
    add_formats(app, words);
}

Result<What> import_request(Line& line) {
    ImportRequest& import = line.request<ImportRequest>();
    const Words& words = line.words;
    for (const std::string& path : words.tables) {
        ROOFLINE_TRY(auto text, read_file(path));
        import.files.push_back({path == "-" ? "standard input" : path, std::move(text)});
    }
    if (!words.base.empty()) {
        ROOFLINE_TRY(auto machines, load_machines({words.base}));
        import.base = std::move(machines.front());
    }
    if (import.output == "-") {
        return fail("usage", "the machine is written to a file; standard output has the answer",
                    "name one: -o my.toml");
    }
    if (import.date.empty()) import.date = today();
    return std::move(import);
}

// The model and the plan whose step the recorded one is set beside.
void add_planned(CLI::App& app, Line& line) {
    TraceRequest& trace = line.request<TraceRequest>();
    app.add_option("--model", line.words.model,
                   "model that ran, as a configuration (config.json) or a name: compares the recorded step with that\n"
                   "of its plan, and lists kernels that the plan does not have, that are missing, and that are slow")
        ->type_name("CONFIG.json|NAME");
    repeated(app, "--mesh", trace.mesh, "degrees of parallelism of the model, as for `train` and `serve`",
             "fsdp=16,tensor=8");
    app.add_option("--batch-tokens", trace.train.batch_tokens, "training: tokens per step on all chips together")
        ->type_name("TOKENS");
    app.add_option("--seq", trace.train.sequence, "training: sequence length in tokens")->type_name("TOKENS");
    app.add_option("--microbatches", trace.train.microbatches, "training: number of microbatches per step")
        ->type_name("N");
    app.add_option("--zero", trace.train.zero, "training: ZeRO stage over the data axis")->type_name("1|2|3");
    app.add_option("--remat", trace.train.remat, "training: planned recomputation; default: none")
        ->type_name("none|selective|alternate|full|Hm,O");
    app.add_option("--optimizer", trace.train.optimizer, "training: optimizer, as for `train`")
        ->type_name("adam[,moments=DTYPE][,master][,unfused]|sgd");
    app.add_option("--batch", trace.serve.batch, "serving: sequences decoded together")->type_name("SEQUENCES");
    app.add_option("--prompt", trace.serve.prompt, "serving: prompt tokens per sequence")->type_name("TOKENS");
    app.add_option("--output", trace.serve.output, "serving: output tokens per sequence")->type_name("TOKENS");
    app.add_option("--weights", trace.serve.weights, "serving: dtype of all parameters")->type_name("DTYPE");
    app.add_option("--kv-dtype", trace.serve.kv_dtype, "serving: dtype of the KV cache")->type_name("DTYPE");
}

void add_trace(CLI::App& app, Line& line) {
    TraceRequest& trace = line.request<TraceRequest>();
    Words& words = line.words;
    app.add_option("profiles", words.tables,
                   "trace of torch.profiler or jax.profiler (JSON, also packed by gzip; several are the ranks of one\n"
                   "run); XSpace proto (.xplane.pb); reports of Nsight Systems (nsys export --type sqlite, nsys stats\n"
                   "--format csv), rocprof v1 to v3 (CSV, JSON, rocpd) and xprof (hlo_stats, roofline_model,\n"
                   "op_profile); output of `ncu --page raw --csv`; a table with the columns name, flops, bytes and\n"
                   "measured_s; - for standard input")
        ->type_name("FILE")
        ->required();
    repeated(app, "--on", words.on, "machine or slice that the profile was recorded on", "MACHINE[:SHAPE]");
    repeated(app, "--set", trace.sets, "what if: replace a figure of that machine, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    app.add_option("--software", trace.software, "software whose calibration is used; default: the newest")
        ->type_name("NAME");
    add_calibration(app, words);
    add_plots(app, line.plots, "the roofline with the kernels on it, or a step as a time line");
    app.add_option("--plot", words.plot, "what the picture shows; default: roofline")->type_name("roofline|timeline");
    app.add_option("--perfetto", trace.perfetto,
                   "write a step as a trace for Perfetto, with the expected time of each kernel below it")
        ->type_name("FILE.json");
    add_planned(app, line);
    add_formats(app, words);
}

Result<What> trace_request(Line& line) {
    TraceRequest& trace = line.request<TraceRequest>();
    const Words& words = line.words;
    const PlotFiles& plots = line.plots;
    ROOFLINE_CHECK(check_plots(words, plots));
    for (const std::string& path : words.tables) {
        trace.profiles.push_back({path == "-" ? "standard input" : path, [path] { return open_file(path); }});
    }
    ROOFLINE_TRY(trace.machines, load_machines(words.on));
    ROOFLINE_TRY(trace.calibration, load_calibrations(words.calibrations));
    if (!words.model.empty()) {
        ROOFLINE_TRY(trace.model, load_model(words.model));
    }
    trace.page = plots.page();
    if (plots.plot()) trace.plot = PlotKind::roofline;
    if (!words.plot.empty()) {
        ROOFLINE_TRY(trace.plot, plot_kind(words.plot));
        if (trace.plot != PlotKind::roofline && trace.plot != PlotKind::timeline) {
            return fail("usage", "--plot of a profile is roofline or timeline");
        }
    }
    return std::move(trace);
}

}  // namespace

const Command trace_command{"trace", "where the steps of a recorded profile go, and each kernel against its roofline",
                            trace_examples, add_trace, trace_request};
const Command import_command{"measure import", "convert measurements of other tools to a machine file", import_examples,
                             add_import, import_request};

}  // namespace roofline::core::cli
