// The options of `roofline serve`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/routing_options.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* serve_examples = R"(examples:
  roofline serve llama-3.1-70b --on h100-sxm:8 --prompt 2k --output 256 --batch 32
  roofline serve config.json --on tpu-v5e:4x4 --weights int8 --kv-dtype int8 --batch 48 --prompt 8k --output 512
  roofline serve config.json --on h200:8 --mesh data=2,tensor=4 --batch 64
  roofline serve config.json --on tpu-v5e:4x4 --batch 32 --disaggregated      prefill on separate slices
  roofline serve deepseek-v3 --prefill h200:8 --decode gb200:72 --concurrency 2048 --output 1k
  roofline serve deepseek-v3 --on h200:8 --draft 2 --acceptance 0.8 --batch 16        draft with its own layer
  roofline serve config.json --on h100-sxm:8 --rate 8 --prompt lognormal:1000,0.5 --ttft 500ms --tpot 30ms
  roofline serve llama-3.1-8b-q4_k_m.gguf --on m3-max        speed of a GGUF file under llama.cpp
  roofline serve llama-3.1-8b --weights Q4_K_M --on rtx-4090 the same without the file
  roofline serve config.json --on h100-sxm:8 --price 2 --png frontier.png     tokens/s against TPOT

)";

// The options of speculative decoding.
void add_speculation(CLI::App& app, Line& line) {
    ServeRequest& serve = line.request<ServeRequest>();
    app.add_option(
           "--draft", serve.draft,
           "speculative decoding: draft so many tokens for each step, which the model verifies together; by its "
           "own layer that predicts further tokens (MTP) if it has one, otherwise by a lookup that takes no time")
        ->type_name("TOKENS");
    app.add_option("--acceptance", serve.acceptance,
                   "probability that a drafted token is accepted if all before it were: 0.8 or 80%")
        ->type_name("FRACTION");
    app.add_option("--draft-model", line.words.draft_model, "a smaller model that drafts these tokens")
        ->type_name("CONFIG.json|NAME");
}

// The options of a simulated load.
void add_load(CLI::App& app, Line& line) {
    ServeRequest& serve = line.request<ServeRequest>();
    app.add_option("--concurrency", serve.concurrency,
                   "simulate a server with so many requests in flight, each followed by the next (closed loop)")
        ->type_name("REQUESTS");
    app.add_option("--rate", serve.rate,
                   "simulate a server at which so many requests arrive per second, at random (open loop)")
        ->type_name("REQUESTS/S");
    app.add_option("--lengths", line.words.lengths,
                   "prompt and output tokens of the simulated requests, one per line (columns prompt,output)")
        ->type_name("FILE.csv");
    app.add_option("--cached", serve.cached, "part of each prompt that is in a prefix cache: 0.8, 80% or 600 tokens")
        ->type_name("FRACTION|TOKENS");
    app.add_option("--ttft", serve.ttft,
                   "target of TTFT: adds goodput, and the largest load of which the 99th percentile meets it")
        ->type_name("500ms");
    app.add_option("--tpot", serve.tpot, "target of TPOT, likewise")->type_name("30ms");
    app.add_option("--schedule", serve.schedule,
                   "prompts beside decode tokens (mixed, the default) or before them (prefill-first)")
        ->type_name("mixed|prefill-first");
    app.add_flag("--two-batch-overlap", serve.two_batch_overlap,
                 "exchange the tokens of half a batch beside the kernels of the other half, where that is faster");
    app.add_option("--balancedness", serve.balancedness,
                   "mean over largest number of tokens that a chip's experts get, as servers report it; default:\nas "
                   "popularity and chance make it")
        ->type_name("FRACTION");
    app.add_option("--routing", line.words.routing,
                   "popularity of the experts of a layer: all alike (uniform, the default), by Zipf's law (zipf:1), or "
                   "as\nmeasured: a number per expert, one per line (column tokens or share)")
        ->type_name("uniform|zipf:S|FILE.csv");
    app.add_option(
           "--redundant-experts", serve.redundant_experts,
           "replicas of popular experts per layer over all chips, placed as EPLB does; 0: no replicas, but so placed;\n"
           "default: none, and experts lie in the order of ids")
        ->type_name("N");
    app.add_option("--requests", serve.requests,
                   "number of requests to simulate; default: ten per request in flight, at least 10000 with --rate")
        ->type_name("N");
}

// The options of disaggregated serving.
void add_pools(CLI::App& app, Line& line) {
    ServeRequest& serve = line.request<ServeRequest>();
    app.add_flag("--disaggregated", serve.disaggregated, "prefill on separate slices, like those of --on");
    app.add_option("--prefill", line.words.prefill, "prefill on slices of this machine; those of --on only decode")
        ->type_name("SLICE");
    repeated(app, "--prefill-mesh", serve.prefill_mesh,
             "degree of each kind of parallelism of prefill; default: the plan with the most prompts\nper second",
             "data=2,tensor=4");
    app.add_option("--prefill-workers", serve.prefill_workers,
                   "number of slices that prefill under a load; default: as many as decode keeps busy")
        ->type_name("N");
    app.add_option("--decode-workers", serve.decode_workers, "number of slices that decode under a load; default 1")
        ->type_name("N");
    app.add_flag("--overlap-transfer", serve.overlap_transfer,
                 "send KV caches to decode layer by layer during prefill, and not after it");
}

void add_serve(CLI::App& app, Line& line) {
    ServeRequest& serve = line.request<ServeRequest>();
    Words& words = line.words;
    app.add_option("model", words.model,
                   "a configuration (config.json of a checkpoint), - for standard input, or a name")
        ->type_name("CONFIG.json|NAME")
        ->required();
    repeated(app, "--on,--decode", words.on,
             "slice of a machine, such as tpu-v5e:4x4 or h100-sxm:8; repeat for one column per\nslice", "SLICE");
    app.add_option("--prompt", serve.prompt,
                   "prompt tokens per request; default 1024. uniform:A..B and lognormal:MEAN,SIGMA are\ndistributions "
                   "for a simulated load")
        ->type_name("TOKENS");
    app.add_option("--output", serve.output, "output tokens per request, likewise; default 256")->type_name("TOKENS");
    app.add_option("--batch", serve.batch, "number of sequences that are decoded together; default 1")
        ->type_name("SEQUENCES");
    app.add_option(
           "--chunk", serve.chunk,
           "tokens per chunk of a long prompt (chunked prefill); activations are those of one chunk; default 8192")
        ->type_name("TOKENS");
    app.add_option("--memory-fraction", serve.memory_fraction,
                   "part of a chip's memory that the server uses: 0.9 or 90%; default: that of its software")
        ->type_name("FRACTION");
    app.add_option(
           "--block", serve.block,
           "tokens per block of the KV cache, to which those of a sequence are rounded up; default: that of\nthe "
           "server's software for what it holds, else 1")
        ->type_name("TOKENS");
    add_speculation(app, line);
    add_load(app, line);
    app.add_option("--weights", serve.weights,
                   "dtype of all parameters, or a file type of llama.cpp, such as Q4_K_M; default: as stored in the "
                   "checkpoint")
        ->type_name("DTYPE|FILETYPE");
    app.add_option("--kv-dtype", serve.kv_dtype,
                   "dtype of the KV cache; default: as stated in the checkpoint, else bf16")
        ->type_name("DTYPE");
    repeated(app, "--mesh,--decode-mesh", serve.mesh,
             "degree of each kind of parallelism; default: those with the fastest tokens, or without\n--batch, too, "
             "the best set-up of `plan serve`",
             "data=2,tensor=8");
    add_pools(app, line);
    app.add_option("--exchange", serve.exchange,
                   "kernels by which tokens get to experts on other chips: all-gather, deepep, deepep normal,\ndeepep "
                   "low latency, flashinfer, nvlink one-sided; default: those of the server")
        ->type_name("KERNELS");
    app.add_option("--price", serve.price, "USD per chip-hour")->type_name("USD");
    repeated(app, "--set", serve.sets, "what if: replace a figure of the machine, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    add_sweeps(app, serve.sweeps, "batch, prompt or output");
    app.add_option("--software", serve.software,
                   "library, with or without version, whose measurements expected times are based on")
        ->type_name("nccl-2.29");
    add_calibration(app, words);
    app.add_flag(
        "--textbook", serve.textbook,
        "textbook approximation of collectives: every torus axis is a wrapped ring, without the factor (n-1)/n");
    app.add_flag("--explain", serve.explain,
                 "show the derivation of a decode step: formulas, sizes, constants with sources");
    add_plots(app, line.plots, "tokens/s against TPOT");
    add_plan_from(app, words);
    add_emit(app, serve.emit, served_by);
    add_formats(app, words);
}

Result<What> serve_request(Line& line) {
    ServeRequest& serve = line.request<ServeRequest>();
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    serve.plot = line.plots.plot();
    serve.page = line.plots.page();
    ROOFLINE_TRY(serve.config, load_model(line.words.model));
    ROOFLINE_TRY(serve.machines, load_machines(line.words.on));
    if (!line.words.prefill.empty()) {
        ROOFLINE_TRY(const auto prefill, load_machines({line.words.prefill}));
        serve.prefill = prefill.front();
    }
    if (!line.words.lengths.empty()) {
        ROOFLINE_TRY(auto text, read_file(line.words.lengths));
        serve.lengths = NamedText{line.words.lengths, std::move(text)};
    }
    if (is_routing_law(line.words.routing)) {
        serve.routing = line.words.routing;
    } else if (!line.words.routing.empty()) {
        auto text = read_file(line.words.routing);
        if (!text) return fail(unreadable_routing(line.words.routing, text.error()));
        serve.popularity = NamedText{line.words.routing, std::move(*text)};
    }
    if (!line.words.draft_model.empty()) {
        ROOFLINE_TRY(serve.draft_model, load_model(line.words.draft_model));
    }
    ROOFLINE_TRY(serve.plan_from, load_launch(line.words.plan_from));
    ROOFLINE_TRY(serve.calibration, load_calibrations(line.words.calibrations));
    return What(std::move(serve));
}

}  // namespace

const Command serve_command{"serve", "prefill, decode, memory and cost of serving a model on a slice", serve_examples,
                            add_serve, serve_request};

}  // namespace roofline::core::cli
