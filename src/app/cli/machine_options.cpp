// The options of `roofline machine`.
#include "app/cli/commands.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* machine_examples = R"(examples:
  roofline machine
  roofline machine tpu-v5e
  roofline machine tpu-v5e:4x4 h100-sxm:8x16   slices: wires, sums, collectives
  roofline machine h100-sxm h200 b200-sxm --md
  roofline machine my.toml --set hbm.bandwidth=3TB/s
  roofline machine my.toml --ert roofline.json --rocprof roofline.csv   for other tools

)";

void add_machine(CLI::App& app, Line& line) {
    MachineRequest& machine = line.request<MachineRequest>();
    app.add_option("names", line.words.names, "names or machine files; without any, all machines are listed")
        ->type_name("NAME");
    repeated(app, "--set", machine.sets, "what if: replace a figure of the machine, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    app.add_option("--ert", machine.ert, "write the one machine as the Empirical Roofline Toolkit's roofline.json")
        ->type_name("FILE");
    app.add_option("--rocprof", machine.rocprof, "write the one machine as rocprof-compute's roofline.csv")
        ->type_name("FILE");
    add_formats(app, line.words);
}

Result<What> machine_request(Line& line) {
    MachineRequest& machine = line.request<MachineRequest>();
    ROOFLINE_TRY(machine.machines, load_machines(line.words.names));
    if (machine.ert == "-" || machine.rocprof == "-") {
        return fail("usage", "the machine is written to a file; standard output describes it",
                    "name one: --ert roofline.json");
    }
    return std::move(machine);
}

}  // namespace

const Command machine_command{"machine", "list, show and compare machines, with the source of every value",
                              machine_examples, add_machine, machine_request};

}  // namespace roofline::core::cli
