#include "app/cli/options.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;
using namespace roofline::core::cli;

namespace {

Parsed parsed(const std::vector<std::string>& words) {
    bool json = false;
    auto result = parse_arguments(words, json);
    REQUIRE_MESSAGE(result.has_value(), to_text(result.error()));
    return *result;
}

OpRequest op_of(std::vector<std::string> words) {
    words.insert(words.begin(), {"op", "bf16[B] -> f32[B]"});
    return std::get<OpRequest>(parsed(words).request->what);
}

Error error_of(const std::vector<std::string>& words) {
    bool json = false;
    const auto result = parse_arguments(words, json);
    REQUIRE_FALSE(result.has_value());
    return result.error();
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a word of --routing that is no law and no file is refused by the words that there are") {
    const Error error = error_of({"serve", "mixtral-8x7b", "--on", "h100:8", "--routing", "unifrom"});
    CHECK(error.message.starts_with("--routing `unifrom`: this is neither uniform, nor zipf:S, nor a table"));
    CHECK(error.hint == "did you mean `uniform`?");
}

TEST_CASE("options that may be repeated are, in order, and take one word each") {
    const OpRequest op = op_of({"--on", "tpu-v5e", "--dims", "B=8,D=4", "--on", "h200", "--dims", "F=2", "--set",
                                "price=2", "--sweep", "B=1..4", "--tile", "best", "--mesh", "X=2"});
    REQUIRE(op.machines.size() == 2);
    CHECK(op.machines[1].name == "h200");
    CHECK_FALSE(op.machines[1].toml.has_value());
    CHECK(op.dims == Words{"B=8,D=4", "F=2"});
    CHECK(op.sets == Words{"price=2"});
    CHECK(op.sweeps == Words{"B=1..4"});
    CHECK(op.tiles == Words{"best"});
    CHECK(op.mesh == Words{"X=2"});
    CHECK_FALSE(op.explain);
    CHECK(op_of({"--explain", "--exact-flops"}).explain);
    CHECK(op_of({"--explain", "--exact-flops"}).exact_flops);
}

TEST_CASE("a word with a bracket is a program, other words are files") {
    CHECK(op_of({}).program == "bf16[B] -> f32[B]");
    CHECK(op_of({}).program_name.empty());
    const Error missing = error_of({"op", "matmul", "--on", "tpu-v5e"});
    CHECK(missing.hint.find("ends in .roof") != std::string::npos);
    CHECK(error_of({"op", "no-such-file[1].roof"}).message.find("no-such-file") != std::string::npos);
    CHECK(op_of({"--on", "./no-such.toml"}).machines.front().unreadable->message.find("no-such.toml") !=
          std::string::npos);
    CHECK(error_of({"op", "A*B", "--on", "tpu-v5e"}).message ==
          "`A*B` is neither a file nor an operation: its tensors have no types");
}

TEST_CASE("an option without a value does not take the next word as one") {
    const Error error = error_of({"machine", "h200", "--ert=", "--json"});
    CHECK(error.code == "usage");
    CHECK(error.message == "--ert has no value");
    CHECK(op_of({"--dims", "B=", "--on=h200"}).dims == Words{"B="});
    CHECK(error_of({"op", "--", "--ert="}).message.find("has no value") == std::string::npos);
}

TEST_CASE("one format at a time; errors know early whether they are JSON") {
    CHECK(parsed({"machine", "--csv"}).request->format == Format::csv);
    CHECK(parsed({"machine", "--md"}).request->format == Format::markdown);
    CHECK(parsed({"machine"}).request->format == Format::text);
    CHECK(error_of({"machine", "--csv", "--md"}).code == "usage");
    bool json = false;
    CHECK_FALSE(parse_arguments({"op", "--jsom", "--json"}, json).has_value());
    CHECK(json);
}

TEST_CASE("a plot is asked for by naming its file") {
    CHECK(op_of({}).plot == PlotKind::none);
    CHECK(error_of({"op", "bf16[B] -> f32[B]", "--plot", "sweep"}).code == "usage");
    CHECK(error_of({"op", "bf16[B] -> f32[B]", "--svg", "-"}).code == "usage");
    CHECK(op_of({"--svg", "a.svg"}).plot == PlotKind::roofline);
    CHECK(op_of({"--png", "a.png", "--plot", "sweep"}).plot == PlotKind::sweep);
    CHECK(op_of({"--png", "a.png", "--plot", "mesh"}).plot == PlotKind::mesh);
    CHECK(op_of({"--svg", "a.svg", "--plot", "timeline"}).plot == PlotKind::timeline);
    CHECK(error_of({"op", "bf16[B] -> f32[B]", "--svg", "a.svg", "--plot", "tiemline"}).hint ==
          "did you mean `timeline`?");
    CHECK(parsed({"op", "bf16[B] -> f32[B]", "--png", "a.png"}).plots.png == "a.png");
    CHECK(error_of({"validate", "t.csv", "--plot", "frontier"}).code == "usage");
    CHECK(error_of({"validate", "t.csv", "--svg", "a.svg", "--plot", "frontir"}).hint == "did you mean `frontier`?");
    CHECK(error_of({"validate", "t.csv", "--svg", "a.svg", "--plot", "mesh"}).hint == "there are scatter, frontier");
}

TEST_CASE("mistyped words get the nearest that exists") {
    CHECK(error_of({"po"}).hint == "did you mean `op`?");
    const Error option = error_of({"op", "bf16[B] -> f32[B]", "--sweeep", "B=1"});
    CHECK(option.message == "no option `--sweeep`");
    CHECK(option.hint == "did you mean `--sweep`?");
    // options have several names
    CHECK(error_of({"serve", "llama-3.1-8b", "--decode", "h100-sxm", "--fast"}).message == "no option `--fast`");
    CHECK(error_of({"op"}).code == "usage");
    CHECK(error_of({"machine", "--color", "sometimes"}).code == "usage");
}

TEST_CASE("help and version are texts, and colour is as it is asked for") {
    CHECK(parsed({}).print.starts_with("examples:"));
    CHECK(parsed({"op", "--help", "--nonsense"}).print.find("--sweep") != std::string::npos);
    CHECK(parsed({"machine", "-h"}).print.find("--sweep") == std::string::npos);
    CHECK(parsed({"--version"}).print.starts_with("roofline "));
    CHECK(parsed({"machine", "--color", "always"}).request->color);
    CHECK_FALSE(parsed({"machine", "--color", "never"}).request->color);
    CHECK_FALSE(parsed({"op", "--help"}).request.has_value());
}

TEST_CASE("completion knows the commands, options and machines of the tables that words are parsed with") {
    const std::string bash = parsed({"completion", "bash"}).print;
    for (const std::string part : {"--sweep", "--collective", "measure import", "h100-sxm5", "auto always never"}) {
        CHECK_MESSAGE(bash.find(part) != std::string::npos, part);
    }
    const std::string fish = parsed({"completion", "fish"}).print;
    CHECK(fish.find("'__fish_seen_subcommand_from op' -l dims") != std::string::npos);
    const std::string zsh = parsed({"completion", "zsh"}).print;
    CHECK(zsh.find("\"measure import\") _arguments") != std::string::npos);
    CHECK(error_of({"completion", "bsh"}).hint == "did you mean `bash`?");
}

TEST_CASE("words below a command of a command are its own") {
    CHECK(error_of({"measure", "import", "--bse", "x", "f"}).hint == "did you mean `--base`?");
    CHECK(parsed({"measure", "import", "--help"}).print.find("Usage: roofline measure import") != std::string::npos);
}

TEST_CASE("a fit is refused before it begins where its models could not be written") {
    const Error missing = error_of({"fit", "no-such-table.csv", "-o", "no-such-folder"});
    CHECK(missing.message == "there is no folder no-such-folder");
    CHECK(missing.hint == "mkdir -p no-such-folder");
    CHECK(error_of({"fit", "no-such-table.csv", "-o", "no-such-folder/h100.toml"}).message == missing.message);
    CHECK(error_of({"fit", "no-such-table.csv", "-o", "/dev/null"}).message.starts_with("cannot write to /dev/null"));
}
