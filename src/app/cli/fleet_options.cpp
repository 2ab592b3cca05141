// The options of `roofline plan fleet`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/cli/train_options.hpp"
#include "app/fleet_file.hpp"
#include "measure/module.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* fleet_examples = R"(example:
  roofline plan fleet fleet.toml       which job runs on which chips, for the least cost

  fleet.toml:
    days = 30                          served models are paid for so long

    [pools.new]
    on = "h100-sxm"
    chips = 512

    [pools.old]
    on = "a100-sxm4-80"
    chips = 256

    [[train]]
    name = "pretraining"
    model = "llama-3.1-8b"
    batch-tokens = "4Mi"
    seq = 8192
    tokens = "1T"
    days = 60                          a deadline
    chips = "64..512*2"                the numbers of chips that are tried
    without = "sequence,context"

    [[serve]]
    name = "chat"
    model = "llama-3.1-70b"
    prompt = 1024
    output = 256
    rate = 100                         requests/s of all replicas
    ttft = "1s"                        targets, of the 99th percentile
    tpot = "40ms"

)";

void add_fleet(CLI::App& app, Line& line) {
    app.add_option("file", line.words.table, "pools of chips and the jobs that run on them")
        ->type_name("FLEET.toml")
        ->required();
    add_calibration(app, line.words);
    app.add_option("--threads", line.words.threads, "threads of the searches; default: as many as cores")
        ->type_name("N");
    add_page(app, line.plots);
    add_formats(app, line.words);
}

Result<What> fleet_request(Line& line) {
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    ROOFLINE_TRY(auto text, read_file(line.words.table));
    const FleetLoaders loaders{[](const std::string& name) { return load_model(name); },
                               [](const std::string& name) -> Result<MachineRef> {
                                   ROOFLINE_TRY(auto machines, load_machines({name}));
                                   return std::move(machines.front());
                               }};
    const std::string name = line.words.table == "-" ? "standard input" : line.words.table;
    ROOFLINE_TRY(auto fleet, read_fleet({name, std::move(text)}, loaders));
    for (FleetTrainingRequest& job : fleet.trained) {
        ROOFLINE_TRY(job.plan.train.framework, load_framework(job.plan.train.framework.name));
    }
    ROOFLINE_TRY(fleet.calibration, load_calibrations(line.words.calibrations));
    ROOFLINE_TRY(fleet.search, search_control(line.words.threads));
    fleet.solver = [] { return load_module_as<MilpSolver>("cbc", "solver of integer programs", "coinor-libcbc-dev"); };
    fleet.page = line.plots.page();
    return What(std::move(fleet));
}

}  // namespace

const Command plan_fleet_command{"plan fleet", "which job of a fleet runs on which chips, for the least cost",
                                 fleet_examples, add_fleet, fleet_request};

}  // namespace roofline::core::cli
