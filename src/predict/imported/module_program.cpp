#include "predict/imported/module_program.hpp"

#include <fmt/format.h>

#include <string_view>

#include "import/xla/named/named_program.hpp"
#include "notation/notation.hpp"

namespace roofline::core {

namespace {

// A comment of one line: what a file says may contain anything.
std::string program_comment(std::string_view text) {
    std::string line = "# ";
    for (const char c : text) line += c >= ' ' && c != 0x7F ? c : ' ';
    return line + '\n';
}

}  // namespace

XlaCostOptions cost_options(const ModuleQuestion& question) {
    XlaCostOptions options;
    options.count_multiple_input_accesses = question.count_multiple_input_accesses;
    options.trip_counts = question.loops;
    options.unknown = 0;
    if (question.counting == ModuleCounting::xla_gpu) options.analysis = XlaAnalysis::gpu;
    if (question.counting != ModuleCounting::ours) return options;
    options.multiply_loops = true;
    options.price_custom_calls = true;
    options.whole_ragged_dots = true;
    return options;
}

Result<std::string> module_program_text(const XlaModule& module, const std::string& name,
                                        const ModuleQuestion& question) {
    ROOFLINE_TRY(const XlaModuleCost costs, xla_cost(module, cost_options(question)));
    ImportOptions options;
    options.loops = question.loops;
    ROOFLINE_TRY(const ImportedProgram imported, lower_module(module, costs, name, options));
    const ImportedProgram named = name_dimensions(module, imported);
    std::string text = program_comment(fmt::format("{}{}", name,
                                                   named.devices > 1 ? fmt::format(", the work of one of {} devices",
                                                                                   named.devices)
                                                                     : ""));
    for (const std::string& note : named.notes) text += program_comment(note);
    for (const ImportGap& gap : named.gaps) text += program_comment(gap.what);
    return text + print(named.program);
}

}  // namespace roofline::core
