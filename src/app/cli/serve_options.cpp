// The options of `roofline serve`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* serve_examples = R"(examples:
  roofline serve llama-3.1-70b --on h100-sxm:8 --prompt 2k --output 256 --batch 32
  roofline serve config.json --on tpu-v5e:4x4 --weights int8 --kv-dtype int8 --batch 48 --prompt 8k --output 512
  roofline serve config.json --on h200:8 --mesh data=2,tensor=4 --batch 64
  roofline serve config.json --on tpu-v5e:4x4 --batch 32 --disaggregated      slices that prefill for those that decode
  roofline serve config.json --on h100-sxm:8 --price 2 --png frontier.png     tokens/s against TPOT

)";

void add_serve(CLI::App& app, Line& line) {
    ServeRequest& serve = line.request<ServeRequest>();
    Words& words = line.words;
    app.add_option("model", words.model,
                   "a configuration (config.json of a checkpoint), - for standard input, or a name")
        ->type_name("CONFIG.json|NAME")
        ->required();
    repeated(app, "--on", words.on,
             "the slice: a machine with its chips, tpu-v5e:4x4 or h100-sxm:8; given several times, a\ncolumn for each",
             "SLICE");
    app.add_option("--prompt", serve.prompt, "tokens of a request that go in; 1024 if it is not given")
        ->type_name("TOKENS");
    app.add_option("--output", serve.output, "tokens that come out; 256 if it is not given")->type_name("TOKENS");
    app.add_option("--batch", serve.batch, "sequences that are decoded together; 1 if it is not given")
        ->type_name("SEQUENCES");
    app.add_option(
           "--chunk", serve.chunk,
           "tokens of a long prompt that are taken in together (chunked prefill), which its activations are those "
           "of; 8192 if it is not given")
        ->type_name("TOKENS");
    app.add_option("--weights", serve.weights,
                   "the dtype of every parameter; as the checkpoint has them if it is not given")
        ->type_name("DTYPE");
    app.add_option("--kv-dtype", serve.kv_dtype,
                   "the dtype of the KV cache; bf16 if neither this nor the checkpoint says")
        ->type_name("DTYPE");
    repeated(app, "--mesh", serve.mesh,
             "how many chips each strategy splits over; the best of a few if it is not given", "data=2,tensor=8");
    app.add_flag("--disaggregated", serve.disaggregated, "prompts are taken in by slices of their own");
    app.add_option("--price", serve.price, "USD per chip-hour")->type_name("USD");
    repeated(app, "--set", serve.sets, "what if: another figure, absolute or relative", "hbm.bandwidth=3TB/s|*2");
    app.add_option("--software", serve.software,
                   "the library whose measured times collectives are expected to take, and its version")
        ->type_name("nccl-2.29");
    add_calibration(app, words);
    app.add_flag("--textbook", serve.textbook,
                 "collectives as approximated by hand: every torus axis a wrapped ring, no (n-1)/n");
    app.add_flag("--explain", serve.explain,
                 "the derivation of a decode step: formulas, sizes, constants with sources");
    add_plots(app, line.plots, "tokens/s against TPOT");
    add_formats(app, words);
}

Result<What> serve_request(Line& line) {
    ServeRequest& serve = line.request<ServeRequest>();
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    serve.plot = !line.plots.svg.empty() || !line.plots.png.empty();
    ROOFLINE_TRY(serve.config, load_model(line.words.model));
    ROOFLINE_TRY(serve.machines, load_machines(line.words.on));
    ROOFLINE_TRY(serve.calibration, load_calibrations(line.words.calibrations));
    return What(std::move(serve));
}

}  // namespace

const Command serve_command{"serve", "prefill, decode, memory and cost of serving a model on a slice", serve_examples,
                            add_serve, serve_request};

}  // namespace roofline::core::cli
