#include "predict/imported/module_program.hpp"

#include <fmt/format.h>

#include <string_view>

#include "import/xla/named/named_program.hpp"
#include "import/xla/sharding/module_sharding.hpp"
#include "notation/notation.hpp"
#include "predict/imported/module_memory.hpp"
#include "predict/predict.hpp"

namespace roofline::core {

namespace {

// A comment of one line: what a file says may contain anything.
std::string program_comment(std::string_view text) {
    std::string line = "# ";
    for (const char c : text) line += c >= ' ' && c != 0x7F ? c : ' ';
    return line + '\n';
}

// Programs of more statements are laid out one after another.
constexpr std::size_t most_joint_statements = 300;

std::size_t statements_in(const Block& block) {
    std::size_t count = 0;
    for (const Node& node : block.nodes) {
        const auto* inner = std::get_if<Block>(&node);
        count += inner == nullptr ? 1 : statements_in(*inner);
    }
    return count;
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
    ImportedProgram named = name_dimensions(module, imported);
    std::string of = name;
    if (is_before_partitioning(module)) {
        named.program.mesh.clear();
        of += ", before it is split over devices: subscripts of types split it, as in bf16[B_X, D]";
    } else if (named.devices > 1) {
        of += fmt::format(", the work of one of {} devices", named.devices);
    }
    std::string text = program_comment(of);
    for (const std::string& note : named.notes) text += program_comment(note);
    for (const ImportGap& gap : named.gaps) text += program_comment(gap.what);
    return text + print(named.program);
}

Result<ImportedProgram> sharded_program(const XlaModule& module, const XlaModuleCost& costs, const std::string& name,
                                        const ModuleQuestion& question) {
    ImportOptions options;
    options.loops = question.loops;
    options.keep_constraints = true;
    ROOFLINE_TRY(const ImportedProgram imported, lower_module(module, costs, name, options));
    ROOFLINE_TRY(const ModuleSharding sharding, module_sharding(module, imported, question.mesh));
    ImportedProgram named = name_dimensions(module, imported, &sharding);
    named.notes.insert(named.notes.end(), sharding.notes.begin(), sharding.notes.end());
    return named;
}

LayoutFreedom layout_freedom(const Program& program) {
    return statements_in(program.body) > most_joint_statements ? LayoutFreedom::greedy : LayoutFreedom::in_part;
}

void take_laid_out(const ImportedProgram& imported, const XlaModule& module, ModuleAnswer& answer) {
    Prediction& prediction = *answer.prediction;
    const std::size_t free = std::erase_if(prediction.notes, is_layout_note);
    answer.notes.push_back(fmt::format(
        "the module is from before partitioning and is laid out over {}: its shardings are kept, and of {} array{} "
        "without one the layout with the least bound is taken, which may be another than the partitioner's",
        mesh_text(imported.program.mesh), free, free == 1 ? "" : "s"));
    if (layout_freedom(imported.program) == LayoutFreedom::greedy) {
        answer.notes.push_back(fmt::format(
            "the program has {} statements, and layouts of more than {} are not compared jointly: each statement "
            "takes the best of a few layouts of those before it",
            statements_in(imported.program.body), most_joint_statements));
    }
    answer.collectives.clear();
    for (const MessageWork& each : prediction.analysis.work.total.messages) {
        const auto bytes = count(prediction.program, each.message.bytes);
        const auto times = count(prediction.program, each.count);
        if (!bytes || !times) continue;
        std::int64_t members = 1;
        for (const MeshAxis& axis : imported.program.mesh) {
            if (has(each.message.axes, axis.name)) members *= axis.size;
        }
        const CollectiveInfo& kind = info(each.message.kind);
        const bool part = kind.size_of_member() || each.message.kind == CollectiveKind::reduce_scatter;
        XlaCollectiveCount& counted = answer.collectives[std::string(kind.spoken)];
        counted.executed += times->to_double();
        counted.output_bytes += times->to_double() * bytes->to_double() / static_cast<double>(part ? members : 1);
    }
    ImportedProgram local = imported;
    local.program = *prediction.local;
    answer.memory = module_memory(module, local);
}

}  // namespace roofline::core
