#include "app/cli/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "app/cli/files.hpp"
#include "app/local/this_machine.hpp"
#include "base/ascii.hpp"
#include "import/gguf.hpp"
#include "import/launch/launch_table.hpp"

namespace roofline::core::cli {

void repeated(CLI::App& app, const std::string& name, std::vector<std::string>& target, const std::string& help,
              const std::string& value) {
    app.add_option(name, target, help)->type_name(value)->expected(1)->take_all()->allow_extra_args(false);
}

void add_sweeps(CLI::App& app, std::vector<std::string>& sweeps, const std::string& sizes) {
    repeated(app, "--sweep", sweeps,
             "sweep a figure of --set, or " + sizes +
                 ", and find where the best plan and the\nbottleneck change; "
                 "given twice, a grid",
             "hbm.bandwidth=2TB/s..16TB/s*1.5");
}

void add_formats(CLI::App& app, Words& words) {
    app.add_flag("--json", words.json, "JSON, in SI base units (docs/reference/json.md)");
    app.add_flag("--csv", words.csv, "comma-separated values, in SI base units");
    app.add_flag("--md", words.markdown, "a Markdown table");
    app.add_option("--color", words.color, "when to use color: auto, always or never (NO_COLOR is respected)")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
}

void add_calibration(CLI::App& app, Words& words) {
    repeated(app, "--calibration", words.calibrations,
             "file of `roofline fit` with models of expected times that replace the built-in ones of its\nmachine, or "
             "of all servers; none: no expected times",
             "FILE.toml|none");
}

void add_emit(CLI::App& app, std::string& framework, const std::string& frameworks) {
    app.add_option("--emit", framework,
                   "print only the flags or the configuration that start the plan in this framework, with what they\n"
                   "do not express as comments; in JSON the key `emitted`")
        ->type_name(frameworks);
}

void add_plan_from(CLI::App& app, Words& words) {
    app.add_option("--plan-from", words.plan_from,
                   "take the plan from the flags or the configuration that start a framework; its name may stand "
                   "before the\nfile, megatron:run.sh; options that are given, too, must agree")
        ->type_name("[FRAMEWORK:]FILE");
}

void add_plots(CLI::App& app, PlotFiles& plots, const std::string& what) {
    app.add_option("--svg", plots.svg, "write " + what + " as SVG")->type_name("FILE");
    app.add_option("--png", plots.png, "write " + what + " as PNG")->type_name("FILE");
}

Result<std::optional<LaunchFile>> load_launch(const std::string& word) {
    if (word.empty()) return std::nullopt;
    LaunchFile launch;
    std::string path = word;
    if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
        ROOFLINE_TRY(const auto tables, launch_tables());
        const auto named = std::any_of(tables.begin(), tables.end(),
                                       [&](const LaunchTable& each) { return each.name == word.substr(0, colon); });
        if (named) {
            launch.framework = word.substr(0, colon);
            path = word.substr(colon + 1);
        }
    }
    ROOFLINE_TRY(launch.file.text, read_file(path));
    launch.file.name = path == "-" ? "standard input" : path;
    return launch;
}

Result<CalibrationRef> load_calibrations(const std::vector<std::string>& names) {
    CalibrationRef reference;
    for (const std::string& name : names) {
        if (name == "none") {
            reference.none = true;
            continue;
        }
        ROOFLINE_TRY(auto text, read_file(name));
        reference.files.push_back({name, std::move(text)});
    }
    if (reference.none && !reference.files.empty()) {
        return fail("usage", "--calibration none cannot be combined with a calibration file", "keep one");
    }
    return reference;
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm day{};
    if (::gmtime_r(&now, &day) == nullptr) return "";
    return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

Result<double> parse_fraction(std::string_view text, std::string_view what, std::string_view remedy) {
    const bool percent = text.ends_with('%');
    const std::string_view digits = trimmed(percent ? text.substr(0, text.size() - 1) : text);
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(value) || value <= 0) {
        return fail("usage", fmt::format("{} is no {}", in_ticks(text), what), std::string(remedy));
    }
    return percent ? value / 100 : value;
}

namespace {

/// Whether the word has the form "publisher/model" under which models are published. The path of an existing file is
/// not a model name.
bool is_model_name(const std::string& word) {
    const std::size_t slash = word.find('/');
    const bool one = slash != std::string::npos && slash > 0 && word.find('/', slash + 1) == std::string::npos;
    const bool path =
        word.starts_with('.') || word.starts_with('~') || word.ends_with(".json") || word.ends_with(".gguf");
    return one && !path && ::access(word.c_str(), F_OK) != 0;
}

}  // namespace

Result<WeightFile> load_head(const std::string& path) {
    ROOFLINE_TRY(auto file, FileHead::open(path));
    WeightFile weights{path, "", file.size()};
    std::uint64_t wanted = wanted_head("", weights.size);
    while (wanted > weights.head.size()) {
        ROOFLINE_TRY(weights.head, file.read(wanted));
        if (weights.head.size() < wanted) break;
        wanted = wanted_head(weights.head, weights.size);
    }
    return weights;
}

Result<NamedText> load_model(const std::string& word) {
    const bool file = word == "-" || word.ends_with(".json") || word.find('/') != std::string::npos;
    NamedText model{word == "-" ? "standard input" : word, ""};
    if (word.ends_with(".gguf")) {
        ROOFLINE_TRY(const auto head, load_head(word));
        ROOFLINE_TRY(model.text, gguf_config(head));
        return model;
    }
    if (!file || is_model_name(word)) return model;
    ROOFLINE_TRY(model.text, read_file(word));
    return model;
}

Status load_program(const std::string& word, OpRequest& op) {
    const bool text = word.find('[') != std::string::npos && !word.ends_with(".roof");
    if (text) {
        op.program = word;
        return {};
    }
    auto content = read_file(word);
    if (!content) {
        if (word.find_first_of("*=;+") != std::string::npos) {
            return fail("usage",
                        fmt::format("{} is neither a file nor an operation: its tensors have no types", in_ticks(word)),
                        "an operation is written like bf16[B, D] * bf16[D, F] -> bf16[B, F]");
        }
        Error error = content.error();
        if (!word.ends_with(".roof") && word != "-") {
            error.hint =
                "an operation is written like bf16[B, D] * bf16[D, F] -> bf16[B, F]; a file's name ends in .roof";
        }
        return fail(error);
    }
    op.program = std::move(*content);
    op.program_name = word == "-" ? "standard input" : word;
    return {};
}

namespace {

Result<std::string> read_this_machine() {
    ROOFLINE_TRY(auto path, this_machine_path());
    auto text = read_file(path);
    if (!text) {
        return fail("no_machine", fmt::format("this machine has not been measured: {}", text.error().message),
                    "roofline measure cpu");
    }
    return text;
}

}  // namespace

Result<std::vector<MachineRef>> load_machines(const std::vector<std::string>& names) {
    std::vector<MachineRef> machines;
    for (const std::string& name : names) {
        MachineRef reference{name, {}, {}};
        if (name == "this" || name.starts_with("this:")) {
            auto text = read_this_machine();
            if (!text && names.size() == 1) return fail(text.error());
            if (!text) {
                machines.push_back({name, {}, {}, text.error()});
                continue;
            }
            machines.push_back({"this", std::move(*text), name.size() > 5 ? name.substr(5) : "", {}});
            continue;
        }
        // my.toml:4x4 is a slice of the machine in the file.
        const std::size_t colon = name.rfind(".toml:");
        if (colon != std::string::npos) {
            reference.name = name.substr(0, colon + 5);
            reference.slice = name.substr(colon + 6);
        }
        if (reference.name.ends_with(".toml") || name.find('/') != std::string::npos) {
            auto content = read_file(reference.name);
            if (content) {
                reference.toml = std::move(*content);
            } else {
                reference.unreadable = content.error();
            }
        }
        machines.push_back(std::move(reference));
    }
    return machines;
}

Result<Format> format_of(const Words& words) {
    if (words.json + words.csv + words.markdown > 1) return fail("usage", "--json, --csv and --md exclude one another");
    return words.json ? Format::json : words.csv ? Format::csv : words.markdown ? Format::markdown : Format::text;
}

namespace {

/// Returns the kind of plot that a word names; without a word the first kind.
template <class Kind>
Result<Kind> kind_of(const std::string& word, const std::vector<std::pair<std::string, Kind>>& kinds) {
    if (word.empty()) return kinds.front().second;
    std::vector<std::string> names;
    for (const auto& [name, kind] : kinds) {
        if (name == word) return kind;
        names.push_back(name);
    }
    return fail("usage", fmt::format("no plot `{}`", word),
                did_you_mean(word, names, fmt::format("there are {}", fmt::join(names, ", "))));
}

}  // namespace

Status check_plots(const Words& words, const PlotFiles& files) {
    if (!words.plot.empty() && files.svg.empty() && files.png.empty()) {
        return fail("usage", "--plot selects a plot, but no file for it is given", "add --svg FILE or --png FILE");
    }
    if (files.svg == "-" || files.png == "-") {
        return fail("usage", "a plot is written to a file; standard output has the answer", "name one: --svg plot.svg");
    }
    return {};
}

Result<PlotKind> plot_kind(const std::string& word) {
    return kind_of<PlotKind>(word, {{"roofline", PlotKind::roofline},
                                    {"sweep", PlotKind::sweep},
                                    {"mesh", PlotKind::mesh},
                                    {"timeline", PlotKind::timeline}});
}

Result<ValidationPlot> validation_plot_kind(const std::string& word) {
    return kind_of<ValidationPlot>(word,
                                   {{"scatter", ValidationPlot::scatter}, {"frontier", ValidationPlot::frontier}});
}

}  // namespace roofline::core::cli
