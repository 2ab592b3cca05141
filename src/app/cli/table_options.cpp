// The options of `roofline validate` and `roofline fit`, which read tables of measurements.
#include <algorithm>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* validate_examples = R"(examples:
  roofline validate all_reduce.csv                        errors by system, operation and size
  roofline validate all_reduce.csv --on h100-sxm          rows without a system, or of one under another name
  roofline validate all_reduce.csv --on h100-sxm:8x2 --set ib.bandwidth=25GB/s
  roofline validate all_reduce.csv --png errors.png       predicted against measured
  roofline validate rows.csv --plot frontier --svg f.svg  tokens/s per chip against tokens/s per user
  roofline validate nccl_tests.txt --on h100-sxm:8        what nccl-tests print, as text or as JSON (-J)
  roofline validate step.json.gz --on h100-sxm:8          a recorded profile: a row per operation
  roofline validate all_reduce.csv --csv                  a line for each row, predicted beside measured
  roofline validate all_reduce.csv --max-error 10%        exit status 1 when the mean error is beyond it

)";

constexpr const char* fit_examples = R"(examples:
  roofline fit all_reduce.csv                              errors in and out of sample; writes nothing
  roofline fit a.csv b.csv -o data/calibration             a file for each machine
  roofline fit my_cluster.csv --on h100-sxm -o h100.toml   all measurements are of one machine
  roofline fit step.json.gz --on h100-sxm -o h100.toml     the kernels of a recorded profile
  roofline fit served.csv -o servers.toml                  what servers add to their kernels
  roofline fit a.csv --csv                                 a line for each model

)";

void add_collective(CLI::App& app, std::string& collective) {
    app.add_option("--collective", collective, "the collective that nccl-tests timed, if their output does not name it")
        ->type_name("all-gather");
}

void add_validate(CLI::App& app, Line& line) {
    ValidateRequest& validate = line.request<ValidateRequest>();
    Words& words = line.words;
    app.add_option(
           "table", words.table,
           "measured times, as CSV (docs/reference/tables.md has the columns) or as nccl-tests print them, or a\n"
           "recorded profile that `roofline trace` reads; - for standard input")
        ->type_name("FILE")
        ->required();
    repeated(app, "--on", words.on,
             "machine, slice or machine file that all rows were measured on; overrides the table", "MACHINE");
    repeated(app, "--set", validate.sets, "what if: replace a figure of that machine, absolute or relative",
             "nvlink.bandwidth=400GB/s|*2");
    add_collective(app, validate.collective);
    app.add_flag("--strict", validate.strict,
                 "treat a cell that is not a number as an error; default: skip and count its row");
    add_calibration(app, words);
    app.add_option("--max-error", words.max_error, "maximum acceptable mean error: 10% or 0.1")->type_name("ERROR");
    add_plots(app, line.plots, "predicted against measured");
    app.add_option("--plot", words.plot,
                   "kind of plot: scatter (times) or frontier (tokens/s per chip over tokens/s per user, of the\n"
                   "served model with the most rows); default: scatter")
        ->type_name("KIND");
    add_formats(app, words);
}

void add_fit(CLI::App& app, Line& line) {
    FitRequest& fit = line.request<FitRequest>();
    Words& words = line.words;
    app.add_option("tables", words.tables,
                   "measured times, as CSV (docs/reference/tables.md has the columns) or as nccl-tests print them, or\n"
                   "recorded profiles that `roofline trace` reads")
        ->type_name("FILE")
        ->required();
    repeated(app, "--on", words.on,
             "machine, slice or machine file that all rows were measured on; overrides the table", "MACHINE");
    repeated(app, "--set", fit.sets, "what if: replace a figure of that machine, absolute or relative",
             "nvlink.bandwidth=400GB/s|*2");
    add_collective(app, fit.collective);
    app.add_flag("--strict", fit.strict,
                 "treat a cell that is not a number as an error; default: skip and count its row");
    app.add_option("-o,--output", fit.output,
                   "directory for one file per machine, or a .toml file for a single machine")
        ->type_name("DIR|FILE.toml");
    app.add_option("--date", fit.date, "date of the fit to write into the files; default: today")
        ->type_name("YYYY-MM-DD");
    add_formats(app, words);
}

NamedFile file_named(const std::string& path) {
    return {path == "-" ? "standard input" : path, [path] { return open_file(path); }};
}

Result<What> validate_request(Line& line) {
    ValidateRequest& validate = line.request<ValidateRequest>();
    const Words& words = line.words;
    const PlotFiles& plots = line.plots;
    ROOFLINE_CHECK(check_plots(words, plots));
    validate.page = plots.page();
    if (plots.plot()) {
        ROOFLINE_TRY(validate.plot, validation_plot_kind(words.plot));
    }
    if (!words.max_error.empty()) {
        ROOFLINE_TRY(validate.max_error,
                     parse_fraction(words.max_error, "error to stay below", "write --max-error 10% or 0.1"));
    }
    validate.file = file_named(words.table);
    ROOFLINE_TRY(validate.machines, load_machines(words.on));
    ROOFLINE_TRY(validate.calibration, load_calibrations(words.calibrations));
    return std::move(validate);
}

Result<What> fit_request(Line& line) {
    FitRequest& fit = line.request<FitRequest>();
    const Words& words = line.words;
    for (const std::string& path : words.tables) fit.files.push_back(file_named(path));
    ROOFLINE_TRY(fit.machines, load_machines(words.on));
    if (fit.output == "-")
        return fail("usage", "models are written to files; standard output has the answer", "-o DIR");
    if (!fit.output.empty()) {
        const std::size_t end = fit.output.ends_with(".toml") ? fit.output.rfind('/') : fit.output.size();
        const std::string folder = end == std::string::npos ? "" : fit.output.substr(0, std::max<std::size_t>(end, 1));
        ROOFLINE_CHECK(check_folder(folder));
    }
    if (fit.date.empty()) fit.date = today();
    return std::move(fit);
}

}  // namespace

const Command validate_command{"validate", "compare predictions with measurements: errors, worst rows, plot",
                               validate_examples, add_validate, validate_request};
const Command fit_command{"fit", "fit models of expected times to measurements", fit_examples, add_fit, fit_request};

}  // namespace roofline::core::cli
