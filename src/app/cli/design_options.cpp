// The options of `roofline plan design`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/cli/train_options.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* design_examples = R"(examples:
  roofline plan design --base h200 --vary 'hbm.bandwidth=2..8TB/s, matmul.bf16=0.5..2PFLOP/s' \
      --cost cost.toml --for workloads.toml
  roofline plan design --base tpu-v5e --vary 'hbm.bandwidth=400GB/s..3.2TB/s*1.2, hbm.capacity=16,32,64GB' \
      --cost cost.toml --for workloads.toml --json
  roofline plan design --base h200 --vary hbm.bandwidth=2..8TB/s --steps 32 --cost cost.toml --for workloads.toml \
      --png front.png

docs/guide/your-own-chip.md has the files: workloads with targets, and what each figure costs.

)";

void add_design(CLI::App& app, Line& line) {
    DesignRequest& design = line.request<DesignRequest>();
    app.add_option("--base", line.words.base, "machine whose figures are varied: a name or a machine file")
        ->type_name("MACHINE")
        ->required();
    repeated(app, "--vary", design.vary,
             "figures and their values: bandwidths, capacities, rates of units; a range without increment\nhas --steps "
             "values",
             "hbm.bandwidth=2..8TB/s,hbm.capacity=64..288GiB*1.5");
    app.add_option("--steps", design.steps, "values of a range without an increment, ends included; default: 8")
        ->type_name("N");
    app.add_option("--cost", design.cost.name, "what a chip costs, by figure")->type_name("FILE.toml")->required();
    app.add_option("--for", design.workloads.name,
                   "operations, training jobs and served models, with weights and targets")
        ->type_name("FILE.toml")
        ->required();
    app.add_option("--front", design.front, "machines of the front of cost against time; 0: none; default: 8")
        ->type_name("N");
    repeated(app, "--set", design.sets, "what if: replace a figure of the base machine that is not varied",
             "power=700W|*2");
    app.add_option("--software", design.software, "library whose measurements expected times are based on")
        ->type_name("nccl-2.29");
    app.add_option("--threads", line.words.threads, "threads that predict; default: as many as cores")->type_name("N");
    add_calibration(app, line.words);
    add_plots(app, line.plots, "the front");
    add_formats(app, line.words);
}

Result<What> design_request(Line& line) {
    DesignRequest& design = line.request<DesignRequest>();
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    design.plot = line.plots.plot();
    design.page = line.plots.page();
    ROOFLINE_TRY(auto machines, load_machines({line.words.base}));
    design.base = std::move(machines.front());
    ROOFLINE_TRY(design.cost.text, read_file(design.cost.name));
    ROOFLINE_TRY(design.workloads.text, read_file(design.workloads.name));
    ROOFLINE_TRY(design.calibration, load_calibrations(line.words.calibrations));
    ROOFLINE_TRY(design.search, search_control(line.words.threads));
    return What(std::move(design));
}

}  // namespace

const Command plan_design_command{"plan design", "the cheapest machine that meets targets for several workloads",
                                  design_examples, add_design, design_request};

}  // namespace roofline::core::cli
