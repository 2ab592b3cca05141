// The options of `roofline plan serve`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/cli/train_options.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* plan_serve_examples = R"(examples:
  roofline plan serve llama-3.1-70b --on h100-sxm:8 --prompt 2k --output 256 --ttft 1s --tpot 40ms
  roofline plan serve deepseek-v3 --on gb200:72x2 --prompt 8k --output 1k --ttft 5s --tpot 30ms --disaggregated
  roofline plan serve deepseek-v3 --on h200:8x2 --on gb200:16 --tpot 50ms --for cost       side by side
  roofline plan serve llama-3.1-8b --on h100-sxm:8 --rate 40 --ttft 500ms --tpot 30ms       the fewest chips
  roofline plan serve llama-3.1-70b --on h200:8 --weights bf16,fp8 --png frontier.png
  roofline plan serve deepseek-v3 --on h200:8x2 --tpot 50ms --emit sglang > serve.sh        start the best
  roofline plan serve llama-3.1-70b --on h200:8 --tpot 30ms --sweep hbm.bandwidth=2..8TB/s*2   where it flips

)";

// What the best set-up is best for, and what it has to keep.
void add_serving_aims(CLI::App& app, ServePlanRequest& plan) {
    app.add_option("--for", plan.objective,
                   "most output tokens/s per chip (throughput, the default), fewest USD per million output tokens "
                   "(cost),\nor fewest chips that carry --rate (chips)")
        ->type_name("throughput|cost|chips");
    app.add_option("--ttft", plan.serve.ttft, "target of TTFT, waiting included")->type_name("500ms");
    app.add_option("--tpot", plan.serve.tpot, "target of TPOT")->type_name("30ms");
    app.add_option("--percentile", plan.percentile, "what must meet the targets; default: the 99th percentile")
        ->type_name("99|90|50|mean");
    app.add_option("--rate", plan.serve.rate, "requests/s of all servers together, for --for chips")
        ->type_name("REQUESTS/S");
}

// What is searched.
void add_serving_space(CLI::App& app, Line& line, ServePlanRequest& plan) {
    ServeRequest& serve = plan.serve;
    app.add_option("--chips", plan.chips, "chips of machines without a size")->type_name("N");
    repeated(app, "--mesh,--decode-mesh", serve.mesh,
             "degrees of parallelism that are fixed; all others are searched. Axes: data, tensor, expert,\npipeline",
             "tensor=8");
    repeated(app, "--without", plan.without, "axes that are not used", "pipeline");
    app.add_flag("--aggregated", plan.aggregated, "only servers that prefill and decode");
    app.add_flag("--disaggregated", serve.disaggregated,
                 "only servers that either prefill or decode; default: both kinds are searched");
    app.add_option("--prefill", line.words.prefill, "chips for prefill beside those of --on, of any machine")
        ->type_name("SLICE");
    repeated(app, "--prefill-mesh", serve.prefill_mesh, "likewise degrees of servers that only prefill", "tensor=8");
    app.add_flag("--overlap-transfer", serve.overlap_transfer,
                 "send KV caches to decode layer by layer during prefill, and not after it");
    app.add_option("--weights", serve.weights, "dtypes of all parameters, each of which is searched")
        ->type_name("DTYPE[,DTYPE..]");
    app.add_option("--kv-dtype", serve.kv_dtype, "dtypes of the KV cache, likewise")->type_name("DTYPE[,DTYPE..]");
    app.add_option("--chunk", serve.chunk, "tokens per chunk of a long prompt, likewise; default 8192")
        ->type_name("TOKENS[,TOKENS..]");
}

void add_plan_serve(CLI::App& app, Line& line) {
    ServePlanRequest& plan = line.request<ServePlanRequest>();
    ServeRequest& serve = plan.serve;
    add_model(app, line.words);
    repeated(app, "--on,--decode", line.words.on,
             "all chips that may be used, such as h200:8x2; servers use them or a part of them; repeat for\nmachines "
             "side by side",
             "SLICE");
    app.add_option("--prompt", serve.prompt,
                   "prompt tokens per request; default 1024. uniform:A..B and lognormal:MEAN,SIGMA are distributions")
        ->type_name("TOKENS");
    app.add_option("--output", serve.output, "output tokens per request, likewise; default 256")->type_name("TOKENS");
    app.add_option("--cached", serve.cached, "part of each prompt that is in a prefix cache: 0.8, 80% or 600 tokens")
        ->type_name("FRACTION|TOKENS");
    add_serving_aims(app, plan);
    add_serving_space(app, line, plan);
    app.add_option("--memory-fraction", serve.memory_fraction,
                   "part of a chip's memory that the server uses; default: that of its software")
        ->type_name("FRACTION");
    app.add_option("--exchange", serve.exchange,
                   "kernels by which tokens get to experts on other chips; default: those of the server")
        ->type_name("KERNELS");
    app.add_option("--price", serve.price, "USD per chip-hour")->type_name("USD");
    repeated(app, "--set", serve.sets, "what if: replace a figure of the machine, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    add_sweeps(app, serve.sweeps, "prompt or output");
    app.add_option("--software", serve.software, "server or library whose measurements expected times are based on")
        ->type_name("vllm");
    add_calibration(app, line.words);
    app.add_option("--plans", plan.shown, "number of set-ups with different servers to show; default: 6")
        ->type_name("N");
    app.add_option("--threads", line.words.threads, "threads that search; default: as many as cores")->type_name("N");
    add_emit(app, serve.emit, served_by);
    add_plots(app, line.plots, "the frontier: tokens/s per chip against tokens/s per user; with --sweep the\ncurves");
    add_formats(app, line.words);
}

Result<What> plan_serve_request(Line& line) {
    ServePlanRequest& plan = line.request<ServePlanRequest>();
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    plan.serve.plot = line.plots.plot();
    plan.serve.page = line.plots.page();
    ROOFLINE_TRY(plan.serve.config, load_model(line.words.model));
    ROOFLINE_TRY(plan.serve.machines, load_machines(line.words.on));
    if (!line.words.prefill.empty()) {
        ROOFLINE_TRY(const auto prefill, load_machines({line.words.prefill}));
        plan.serve.prefill = prefill.front();
    }
    ROOFLINE_TRY(plan.serve.calibration, load_calibrations(line.words.calibrations));
    ROOFLINE_TRY(plan.search, search_control(line.words.threads));
    return What(std::move(plan));
}

}  // namespace

const Command plan_serve_command{"plan serve", "the best set-up of servers for a model, and what it costs",
                                 plan_serve_examples, add_plan_serve, plan_serve_request};

}  // namespace roofline::core::cli
