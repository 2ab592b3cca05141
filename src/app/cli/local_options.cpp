#include <utility>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/local/this_machine.hpp"

namespace roofline::cli {

const char measure_examples[] = R"(examples:
  roofline measure cpu                 this machine's roofs, about a minute
  roofline measure cpu --quick         ten seconds
  mpirun -n 2 roofline measure network what processes exchange how fast

)";

const char run_examples[] = R"(examples:
  roofline run 'f32[B, D] * f32[D, F] -> f32[B, F]' --dims B=64,D=4096,F=4096
  mpirun -n 2 roofline run 'bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]' --mesh X=2 --dims B=512,D=4k,F=4k

)";

void add_measure(CLI::App& app, Line& line) {
    Words& words = line.words;
    app.add_option("part", words.part, "cpu (the default), network (under mpirun) or gpu")
        ->type_name("cpu|network|gpu")
        ->check(CLI::IsMember({"cpu", "network", "gpu"}));
    app.add_flag("--quick", words.quick, "about ten seconds instead of a minute");
    app.add_flag("--thorough", words.thorough, "more samples and sizes: some minutes");
    app.add_option("-o,--output", line.measure.output,
                   "the machine file to write, in the place of the one `--on this` reads")
        ->type_name("FILE.toml");
    add_formats(app, words);
}

void add_run(CLI::App& app, Line& line) {
    Words& words = line.words;
    app.add_option("program", words.program, "the operation in the notation, a .roof file, or - for standard input")
        ->type_name("PROGRAM|FILE.roof")
        ->required();
    repeated(app, "--dims", line.run.op.dims, "sizes of dimensions; they win over those in the text", "B=256,D=8k");
    repeated(app, "--mesh", line.run.op.mesh,
             "axes of the mesh that the program is split over, one rank a chip: start it with mpirun", "X=2,Y=2");
    add_plots(app, line.plots, "measured beside predicted");
    add_formats(app, words);
}

namespace {

Result<Effort> effort_of(const Words& words) {
    if (words.quick && words.thorough) return fail("usage", "--quick and --thorough exclude one another", "keep one");
    return words.quick ? Effort::quick : words.thorough ? Effort::thorough : Effort::normal;
}

}  // namespace

Result<What> measure_request(Line& line) {
    MeasureRequest& measure = line.measure;
    const Words& words = line.words;
    auto effort = effort_of(words);
    if (!effort) return fail(effort.error());
    measure.effort = *effort;
    measure.part = words.part == "network" ? MeasureRequest::Part::network
                   : words.part == "gpu"   ? MeasureRequest::Part::gpu
                                           : MeasureRequest::Part::cpu;
    measure.date = today();
    if (measure.part == MeasureRequest::Part::network) {
        auto path = measure.output.empty() ? this_machine_path() : Result<std::string>(measure.output);
        if (!path) return fail(path.error());
        if (auto text = read_file(*path)) measure.before = NamedText{std::move(*path), std::move(*text)};
    }
    return std::move(measure);
}

Result<What> run_request(Line& line) {
    const Words& words = line.words;
    if (auto status = check_plots(words, line.plots); !status) return fail(status.error());
    if (auto status = load_program(words.program, line.run.op); !status) return fail(status.error());
    return std::move(line.run);
}

}  // namespace roofline::cli
