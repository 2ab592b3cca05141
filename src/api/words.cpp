#include "api/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace roofline::core {

namespace {

// Converts "B=4096,D=8" to `{{"B", 4096}, {"D", 8}}`.
std::string sizes_terms(std::string_view text) {
    std::string list;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        const std::size_t equals = std::min(part.find('='), part.size());
        list += fmt::format("{}{{\"{}\", {}}}", list.empty() ? "" : ", ", part.substr(0, equals),
                            part.substr(std::min(equals + 1, part.size())));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
    }
    return fmt::format("{{{}}}", list);
}

std::string dims_words(std::string_view value) {
    return value.empty() ? "Program::with_sizes()" : fmt::format("Program::with_sizes({})", sizes_terms(value));
}

std::string mesh_terms(std::string_view value) {
    return value.empty() ? "the plan" : fmt::format("System::with_mesh({})", sizes_terms(value));
}

std::string set_terms(std::string_view value) {
    const std::size_t equals = std::min(value.find('='), value.size());
    return fmt::format("Machine::with(\"{}\", \"{}\")", value.substr(0, equals),
                       value.substr(std::min(equals + 1, value.size())));
}

std::string slice_terms(std::string_view value) {
    const std::size_t colon = std::min(value.find(':'), value.size());
    return fmt::format("System::slice(machine, \"{}\")", value.substr(std::min(colon + 1, value.size())));
}

std::string tile_words(std::string_view value) {
    if (value == "best") return "a Tile without sizes";
    const std::size_t colon = value.find(':');
    const std::string_view level = colon == std::string_view::npos ? std::string_view() : value.substr(0, colon);
    return fmt::format("Tile{{\"{}\", Sizes{}}}", level, sizes_terms(value.substr(level.empty() ? 0 : colon + 1)));
}

std::string kept_terms(std::string_view /*value*/) { return "Recomputation::named with TrainingOptions::kept_tensors"; }

struct Option {
    std::string_view name;
    bool value;  ///< an assignment, a name or a shape may follow
    std::string (*words)(std::string_view value);
};

constexpr Option options[] = {
    {"--dims", true, dims_words},
    {"--mesh", true, mesh_terms},
    {"--set", true, set_terms},
    {"--on", true, slice_terms},
    {"--tile", true, tile_words},
    {"--remat", true, kept_terms},
    {"--storage", false, [](std::string_view) { return std::string("TrainingOptions::recovery"); }},
    {"--failures", false, [](std::string_view) { return std::string("Recovery::interruptions_per_chip"); }},
    {"--framework", false, [](std::string_view) { return std::string("TrainingOptions::framework"); }},
    {"--seq", false, [](std::string_view) { return std::string("length of sequence"); }},
    {"--batch-tokens", false, [](std::string_view) { return std::string("TrainingOptions::batch_tokens of"); }},
    {"--microbatches", false, [](std::string_view) { return std::string("TrainingOptions::microbatches of"); }},
    {"--draft-model", false, [](std::string_view) { return std::string("Speculation::draft_model"); }},
    {"--draft", false, [](std::string_view) { return std::string("Speculation::draft_tokens"); }},
    {"--acceptance", false, [](std::string_view) { return std::string("Speculation::acceptance"); }},
    {"--prefill-mesh", false, [](std::string_view) { return std::string("PrefillPool::plan"); }},
    {"--balancedness", false, [](std::string_view) { return std::string("ServingSetup::balancedness"); }},
    {"--memory-fraction", false, [](std::string_view) { return std::string("ServingSetup::memory_fraction"); }},
    {"--block", false, [](std::string_view) { return std::string("ServingSetup::cache_block"); }},
    {"--routing", false, [](std::string_view) { return std::string("ServingSetup::routing"); }},
    {"--redundant-experts", false, [](std::string_view) { return std::string("ServingSetup::redundant_experts"); }},
    {"--two-batch-overlap", false, [](std::string_view) { return std::string("ServingSetup::two_batch_overlap"); }},
    {"--exchange", false, [](std::string_view) { return std::string("ServingSetup::exchange"); }},
    {"--schedule", false, [](std::string_view) { return std::string("PlanSearch::schedule of"); }},
    {"--without", false, [](std::string_view) { return std::string("PlanSearch::without of"); }},
    {"--zero", false, [](std::string_view) { return std::string("the ZeRO stage"); }},
    {"--optimizer", true, [](std::string_view) { return std::string("Optimizer::moments"); }},
    {"--products", false, [](std::string_view) { return std::string("TrainingOptions::matmul_dtype"); }},
    {"--days", false, [](std::string_view) { return std::string("PlanLimits::time"); }},
    {"--usd", false, [](std::string_view) { return std::string("PlanLimits::cost"); }},
    {"--power", false, [](std::string_view) { return std::string("PlanLimits::power"); }},
    {"--software", false, [](std::string_view) { return std::string("software"); }},
    {"--textbook", false, [](std::string_view) { return std::string("textbook"); }},
};

struct Phrase {
    std::string_view from;
    std::string_view to;
};

constexpr Phrase phrases[] = {
    {"`roofline model --list` lists the names; a configuration is a file that ends in .json",
     "Model::names() has the names; Model::from_config() reads a configuration"},
    {"`roofline model --list` lists", "the documentation lists"},
    {"`roofline machine` lists all machines", "Machine::names() lists all machines"},
    {"`roofline machine` lists the tiers", "the machine's file lists the tiers"},
    {"--local-dir .`, and name that file", "--local-dir .`, and give its text to Model::from_config()"},
    {"--on tpu-v5e:4x4 --mesh", "--on tpu-v5e:4x4 and --mesh"},
    {"--weights DTYPE counts", "a dtype for the weights counts"},
    {"--kv-dtype fp8 counts", "Dtype::fp8 counts"},
    {"`serve --draft`", "ServingSetup::speculation"},
    {"--calibration none compares", "TrainingOptions::calibrated = false compares"},
    {"add them: --tokens 15T", "set TrainingOptions::total_tokens"},
    {"give it in USD per chip-hour: --price 2.5", "give it with Machine::with(\"price\", \"2.5\")"},
    {"give a smaller slice with --on", "give a smaller slice"},
    {"shorten --seq", "shorten the sequence"},
    {"without --seq", "without a sequence length"},
    {"neither --seq", "neither a length of sequence"},
    {"from the command line replaces", "given to Program::with_sizes() replaces"},
    {"from the command line; the text says", "given beside the text, which says"},
    {"on the command line wins", "that Program::with_sizes() gives wins"},
};

// Whether an option's value may contain this character: `B=128,F=256`, `hbm.bandwidth=10TB/s`, `tpu-v5e:4x4`,
// `<FLOP/s>`.
bool in_value(char c) {
    constexpr std::string_view marks = "=,.:/-_<>{}*";
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || marks.find(c) != std::string_view::npos;
}

// Returns the option value that starts at `from`, or "" if an ordinary word of the sentence does. A value contains `=`,
// `:` or `,`, or is `best`.
std::string_view value_at(std::string_view text, std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && in_value(text[end])) ++end;
    while (end > from && (text[end - 1] == ',' || text[end - 1] == '.' || text[end - 1] == ':')) --end;
    const std::string_view value = text.substr(from, end - from);
    const bool marked = value.find_first_of("=:,") != std::string_view::npos;
    return marked || value == "best" ? value : std::string_view();
}

void replace_option(const Option& option, std::string& text) {
    for (std::size_t at = text.find(option.name); at != std::string::npos; at = text.find(option.name, at)) {
        const std::size_t end = at + option.name.size();
        const std::string_view value =
            option.value && end < text.size() && text[end] == ' ' ? value_at(text, end + 1) : std::string_view();
        const std::string words = option.words(value);
        text.replace(at, option.name.size() + (value.empty() ? 0 : value.size() + 1), words);
        at += words.size();
    }
}

}  // namespace

std::string in_library_terms(std::string text) {
    for (const Phrase& phrase : phrases) {
        const std::size_t at = text.find(phrase.from);
        if (at != std::string::npos) text.replace(at, phrase.from.size(), phrase.to);
    }
    for (const Option& option : options) replace_option(option, text);
    return text;
}

std::vector<std::string> in_library_terms(std::vector<std::string> texts) {
    for (std::string& text : texts) text = in_library_terms(std::move(text));
    return texts;
}

Error in_library_terms(Error error) {
    error.message = in_library_terms(std::move(error.message));
    error.hint = in_library_terms(std::move(error.hint));
    return error;
}

}  // namespace roofline::core
