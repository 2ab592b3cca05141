// The options of `roofline train`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* train_examples = R"(examples:
  roofline train llama-3.1-70b --on tpu-v5p:8x8x16 --batch-tokens 4Mi --seq 4096 --remat full
  roofline train config.json --on h100-sxm:8x16 --batch-tokens 1Mi --seq 4096 --mesh fsdp=16,tensor=8
  roofline train llama-3.1-70b --on tpu-v5p:16x20x28 --tokens 15T --seq 4096 --mfu 0.4    days and dollars
  roofline train llama-3.1-8b --on h100-sxm:8 --batch-tokens 128Ki --seq 4096 --png step.png

)";

void add_training_plan(CLI::App& app, TrainRequest& train) {
    app.add_option("--batch-tokens", train.batch_tokens, "tokens of one step, all chips together; k is 1000, Ki 1024")
        ->type_name("TOKENS");
    app.add_option("--seq", train.sequence, "tokens of a sequence; the configuration's context if it is not given")
        ->type_name("TOKENS");
    repeated(
        app, "--mesh", train.mesh,
        "how many ways what is divided; they multiply to the chips of the slice. Of data, fsdp, tensor,\nsequence, "
        "context, expert, pipeline; fsdp over all chips if it is not given",
        "fsdp=16,tensor=8");
    app.add_option("--zero", train.zero,
                   "what the members of the mesh's axis data share out: 1 the optimizer's states, 2 gradients too, 3 "
                   "parameters\ntoo, as fsdp does")
        ->type_name("1|2|3");
    app.add_option("--microbatches", train.microbatches, "parts of a step's batch, one after the other")
        ->type_name("N");
    app.add_option("--schedule", train.schedule,
                   "of a pipeline: 1f1b, gpipe, interleaved (or interleaved:4, chunks a stage) or zero-bubble")
        ->type_name("SCHEDULE");
    app.add_option("--remat", train.remat,
                   "recomputation in the backward pass: none, selective (all but matmul results), alternate\n"
                   "(every second of these, too), full (each layer), or all but tensors by name")
        ->type_name("none|selective|alternate|full|Hm,O");
    app.add_option(
           "--optimizer", train.optimizer,
           "adam with moments in f32 or another dtype and, where it says so, an f32 copy of the parameters, unfused "
           "with\nwhat plain tensor operations make in between; or sgd; gradients=f32 for either")
        ->type_name("adam[,moments=DTYPE][,master][,unfused]|sgd");
    app.add_option("--products", train.products,
                   "the dtype of fewer than 16 bits that products with parameters are computed in, forward and "
                   "backward; tensors\nare stored in bf16")
        ->type_name("fp8|mxfp8|nvfp4");
    app.add_option("--dispatch", train.dispatch,
                   "the dtype of fewer than 16 bits that tokens are sent to experts in, and their gradients in the "
                   "backward pass")
        ->type_name("fp8|mxfp8|nvfp4");
    app.add_option("--overlap", train.overlap,
                   "axes of the plan whose collectives run beside products of other microbatches or layers (DualPipe: "
                   "expert);\nthose over data and fsdp do anyway")
        ->type_name("expert,tensor");
}

void add_train(CLI::App& app, Line& line) {
    TrainRequest& train = line.request<TrainRequest>();
    app.add_option("model", line.words.model,
                   "a configuration (config.json of a checkpoint), - for standard input, or a name")
        ->type_name("CONFIG.json|NAME")
        ->required();
    repeated(app, "--on", line.words.on,
             "the slice: tpu-v5p:8x8x16, h100-sxm:8x16, my.toml:4x4; several stand beside each other", "SLICE");
    add_training_plan(app, train);
    app.add_option("--tokens", train.tokens, "tokens of the whole training: how long it takes and what it costs")
        ->type_name("15T");
    app.add_option("--mfu", line.words.mfu,
                   "the share of peak FLOP/s that is reached, assumed and not predicted: 0.4 or 40%")
        ->type_name("FRACTION");
    app.add_option("--price", train.price, "of one chip, USD an hour; the machine's list price if it is not given")
        ->type_name("USD");
    repeated(app, "--set", train.sets, "what if: another figure, absolute or relative", "hbm.bandwidth=3TB/s|*2");
    app.add_option("--software", train.software,
                   "the library whose measured times collectives are expected to take, and its version")
        ->type_name("nccl-2.29");
    add_calibration(app, line.words);
    app.add_flag("--textbook", train.textbook,
                 "collectives as approximated by hand: every torus axis a wrapped ring, no (n-1)/n");
    app.add_flag("--explain", train.explain, "the step's derivation: formulas, sizes put in, constants with sources");
    app.add_flag("--program", train.program, "print the program of a step in the notation, and nothing else");
    add_plots(app, line.plots, "the time line of a step");
    add_formats(app, line.words);
}

Result<What> train_request(Line& line) {
    TrainRequest& train = line.request<TrainRequest>();
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    ROOFLINE_TRY(train.config, load_model(line.words.model));
    ROOFLINE_TRY(train.machines, load_machines(line.words.on));
    ROOFLINE_TRY(train.calibration, load_calibrations(line.words.calibrations));
    if (!line.words.mfu.empty()) {
        ROOFLINE_TRY(train.mfu, parse_fraction(line.words.mfu, "share of the peak", "write --mfu 0.4 or 40%"));
    }
    train.plot = !line.plots.svg.empty() || !line.plots.png.empty();
    return What(std::move(train));
}

}  // namespace

const Command train_command{"train", "step time, memory and cost of training a model on a slice", train_examples,
                            add_train, train_request};

}  // namespace roofline::core::cli
