// The options of `roofline plan train`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/cli/train_options.hpp"
#include "measure/network/ranks.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* plan_examples = R"(examples:
  roofline plan train llama-3.1-70b --on h100-sxm:8x16 --batch-tokens 4Mi --seq 8192
  roofline plan train llama-3.1-8b --on h100-sxm:8x8 --batch-tokens 1Mi --mesh tensor=2 --without pipeline,sequence
  roofline plan train mixtral-8x7b --on tpu-v5p:4x4x8 --batch-tokens 2Mi --seq 4096 --tokens 2T --json
  roofline plan train llama-3.1-8b --on h100-sxm --chips 64..512*2 --batch-tokens 1Mi..4Mi*2 \
      --without sequence,context --tokens 1T --for cost --days 30 --usd 1M     the cheapest by a deadline
  roofline plan train llama-3.1-8b --on h100-sxm:8x8 --on tpu-v5p:4x4x4 --batch-tokens 1Mi --without sequence,context \
      --tokens 1T --front time,cost --png front.png
  roofline plan train llama-3.1-70b --on h100-sxm:8x16 --batch-tokens 4Mi --part 3/64 -o 3.json   a part of the search
  roofline plan --merge *.json         the answer of all parts
  mpirun -n 16 roofline plan train llama-3.1-70b --on h100-sxm:8x16 --batch-tokens 4Mi    each rank searches a part

)";

void add_merge(CLI::App& app, Line& line) {
    app.add_option("--merge", line.words.tables, "files that `roofline plan train --part` wrote: all parts of a search")
        ->type_name("FILE.json");
    add_page(app, line.plots);
    add_formats(app, line.words);
}

Result<What> merge_request(Line& line) {
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    if (line.words.tables.empty()) {
        return fail("usage", "what is to be planned is not given", "roofline plan train MODEL --on SLICE ...");
    }
    PlanMergeRequest merge;
    for (const std::string& name : line.words.tables) {
        ROOFLINE_TRY(auto text, read_file(name));
        merge.parts.push_back({name == "-" ? "standard input" : name, std::move(text)});
    }
    ROOFLINE_TRY(const auto control, search_control({}));
    merge.clock = control.clock;
    merge.page = line.plots.page();
    return What(std::move(merge));
}

// What the best plan is best for, and within which limits.
void add_aims(CLI::App& app, PlanRequest& plan) {
    app.add_option("--for", plan.objective,
                   "what is to be least; default: time, or the first objective of --front. Cost is that of chips per\n"
                   "hour, energy that at their rated power, memory that of the fullest chip")
        ->type_name("time|cost|energy|chips|memory");
    app.add_option("--front", plan.front, "also the plans that no other one beats in both of two objectives")
        ->type_name("time,cost");
    app.add_option("--days", plan.days, "limit: calendar days of the run, with interruptions if --storage is given")
        ->type_name("DAYS");
    app.add_option("--usd", plan.usd, "limit: cost of the run")->type_name("5M");
    app.add_option("--power", plan.power, "limit: rated power of all chips")->type_name("10MW");
}

void add_plan(CLI::App& app, Line& line) {
    PlanRequest& plan = line.request<PlanRequest>();
    TrainRequest& train = plan.train;
    add_model(app, line.words);
    repeated(
        app, "--on", line.words.on,
        "slice: tpu-v5p:8x8x16, h100-sxm:8x16, my.toml:4x4; repeat to search several; without a size\nas --chips says",
        "SLICE");
    app.add_option("--chips", plan.chips,
                   "numbers of chips of machines without a size; no slice may have more than the largest")
        ->type_name("N|256..4096*2");
    add_batch(app, train);
    app.get_option("--batch-tokens")->description("tokens per step of all chips together, or a range that is searched");
    app.get_option("--batch-tokens")->type_name("4Mi|1Mi..16Mi*2");
    add_aims(app, plan);
    repeated(app, "--mesh", train.mesh,
             "degrees of parallelism that are fixed; all others are searched. Axes: data, fsdp, tensor,\nsequence, "
             "context, expert, pipeline",
             "tensor=8");
    repeated(app, "--without", plan.without, "axes that are not used", "pipeline,context");
    app.add_option("--zero", train.zero,
                   "fix the ZeRO stage over replicas: 1 shards optimizer states, 2 also gradients")
        ->type_name("0|1|2");
    app.add_option("--microbatches", train.microbatches, "fix the number of microbatches per step")->type_name("N");
    app.add_option("--schedule", train.schedule,
                   "fix the pipeline schedule: 1f1b, gpipe, interleaved:N (N chunks per stage) or zero-bubble")
        ->type_name("SCHEDULE");
    app.add_option("--remat", train.remat,
                   "fix the recomputation: none, selective (all but matmul results), alternate, full (whole layers),\n"
                   "or names of tensors that are kept; default: none, selective and full are searched")
        ->type_name("none|selective|alternate|full|Hm,O");
    add_arithmetic(app, train);
    app.get_option("--products")
        ->description(
            "dtypes of matmuls with parameters, forward and backward, each of which is searched; bf16: as tensors "
            "are\nstored")
        ->type_name("fp8|bf16,fp8,nvfp4");
    app.get_option("--optimizer")
        ->description(
            "adam with moments in f32 or another dtype and, if given, an f32 master copy of the parameters; unfused "
            "adds\nthe intermediate results of unfused tensor operations; or sgd; gradients=f32 for either; several, "
            "each\nbeginning with its name, are searched: adam,adam,moments=bf16")
        ->type_name("adam[,moments=DTYPE][,master][,unfused]|sgd|adam,adam,..");
    add_run(app, line.words, train);
    add_sweeps(app, train.sweeps, "batch-tokens or seq");
    app.add_option("--plans", plan.shown, "number of plans with different degrees to show; default: 8")->type_name("N");
    app.add_option("--limit", plan.limit, "search at most so many plans, spread over the whole space")->type_name("N");
    app.add_option("--part", plan.part,
                   "search only this one of so many equal parts, or what all need before (`leading`);\n"
                   "`roofline plan --merge` makes the answer of all")
        ->type_name("3/64|leading");
    app.add_option("--leading", plan.leading.name,
                   "file of --part leading, which --part N/M need not search again then")
        ->type_name("FILE.json");
    app.add_option("-o,--output", plan.output, "file for the result of --part; default: standard output")
        ->type_name("FILE.json");
    add_emit(app, train.emit, trained_by);
    add_plots(app, line.plots, "the front of --front, or with --sweep the curves");
    add_formats(app, line.words);
}

Result<What> plan_request(Line& line) {
    PlanRequest& plan = line.request<PlanRequest>();
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    plan.plot = line.plots.plot();
    plan.page = line.plots.page();
    ROOFLINE_TRY(plan.train.config, load_model(line.words.model));
    ROOFLINE_TRY(plan.train.machines, load_machines(line.words.on));
    ROOFLINE_TRY(plan.train.calibration, load_calibrations(line.words.calibrations));
    ROOFLINE_TRY(plan.train.framework, load_framework(plan.train.framework.name));
    ROOFLINE_TRY(plan.train.search, search_control(line.words.threads));
    if (!plan.leading.name.empty()) {
        ROOFLINE_TRY(plan.leading.text, read_file(plan.leading.name));
    }
    const auto started = launched();
    if (!started || started->ranks < 2) return What(std::move(plan));
    return What(PlanRanksRequest{std::move(plan)});
}

}  // namespace

const Command plan_command{"plan", "search for the best plan of a training job", plan_examples, add_merge,
                           merge_request};
const Command plan_train_command{"plan train", "the best way to train a model on a slice, and why the others lose",
                                 plan_examples, add_plan, plan_request};

}  // namespace roofline::core::cli
