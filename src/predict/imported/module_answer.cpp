#include "predict/imported/module_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/sharding/module_sharding.hpp"
#include "predict/imported/module_memory.hpp"
#include "predict/imported/module_overlap.hpp"
#include "predict/imported/module_program.hpp"
#include "predict/predict.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

std::string place_of(const XlaOrigin& origin) {
    if (origin.file.empty()) return "";
    return origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : std::string(origin.file);
}

bool is_recomputed(const XlaInstruction& instruction) {
    return instruction.origin.op_name.find("rematted_computation") != std::string_view::npos ||
           instruction.name.find(".remat") != std::string_view::npos;
}

void describe(const XlaInstruction& instruction, ModuleOp& op) {
    op.name = instruction.name;
    op.opcode = instruction.opcode;
    op.source = place_of(instruction.origin);
    op.scope = instruction.origin.op_name;
    op.recomputed = is_recomputed(instruction);
}

void sort_by_time(std::vector<ModuleOp>& ops) {
    std::sort(ops.begin(), ops.end(), [](const ModuleOp& a, const ModuleOp& b) {
        const auto key = [](const ModuleOp& op) {
            return std::tuple(-op.seconds, -op.flops - op.bytes, std::string_view(op.name), std::string_view(op.scope),
                              std::string_view(op.opcode));
        };
        return key(a) < key(b);
    });
}

ModuleGroup& part_named(ModuleGroup& group, std::string_view name) {
    for (ModuleGroup& part : group.parts) {
        if (part.name == name) return part;
    }
    group.parts.emplace_back();
    group.parts.back().name = std::string(name);
    return group.parts.back();
}

void add_to(ModuleGroup& group, const ModuleOp& op) {
    group.flops += op.flops;
    group.bytes += op.bytes;
    group.seconds += op.seconds;
}

void sort_parts(ModuleGroup& group) {
    std::sort(group.parts.begin(), group.parts.end(), [](const ModuleGroup& a, const ModuleGroup& b) {
        return std::tuple(-a.seconds, -a.flops - a.bytes, std::string_view(a.name)) <
               std::tuple(-b.seconds, -b.flops - b.bytes, std::string_view(b.name));
    });
    for (ModuleGroup& part : group.parts) sort_parts(part);
}

// The scopes of an operation: `jit(step)/transpose(jvp(layer))/dot_general`, where a slash inside parentheses is part
// of a name.
std::vector<std::string_view> scopes_of(std::string_view text) {
    std::vector<std::string_view> scopes;
    int depth = 0;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] == '(') ++depth;
        if (i < text.size() && text[i] == ')') --depth;
        if (i < text.size() && (text[i] != '/' || depth > 0)) continue;
        if (i > from) scopes.push_back(text.substr(from, i - from));
        from = i + 1;
    }
    return scopes;
}

void add_groups(ModuleAnswer& answer) {
    ModuleGroup lines;
    answer.by_scope.name = answer.name;
    constexpr std::size_t deepest = 12;
    for (const ModuleOp& op : answer.ops) {
        add_to(answer.by_scope, op);
        add_to(part_named(lines, op.source.empty() ? "(no source line)" : op.source), op);
        ModuleGroup* at = &answer.by_scope;
        std::vector<std::string_view> scopes = scopes_of(op.scope);
        if (scopes.empty()) scopes.emplace_back("(no scope)");
        if (scopes.size() > deepest) scopes.resize(deepest);
        for (const std::string_view scope : scopes) {
            at = &part_named(*at, scope);
            add_to(*at, op);
        }
    }
    sort_parts(lines);
    sort_parts(answer.by_scope);
    answer.by_source = std::move(lines.parts);
}

void add_loops(const XlaModule& module, const XlaModuleCost& costs, const ModuleQuestion& question,
               ModuleAnswer& answer) {
    for (const XlaLoop& loop : costs.loops) {
        const XlaComputation& computation = module.computations[loop.computation];
        const std::string name(computation.instructions[loop.instruction].name);
        answer.loops.push_back({name, std::string(computation.name), loop.trip_count, question.loops.contains(name)});
    }
}

// XLA's rules: instructions of sequences, each as often as its computation runs.
void add_xla_ops(const XlaModule& module, const XlaModuleCost& costs, const XlaExecutions& executions,
                 ModuleAnswer& answer) {
    for (std::size_t c = 0; c < module.computations.size(); ++c) {
        const double times = executions.computations[c];
        if (!(times > 0) || costs.instructions[c].empty()) continue;
        const XlaComputation& computation = module.computations[c];
        for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
            const XlaInstruction& instruction = computation.instructions[i];
            const bool calls = instruction.opcode == "while" || instruction.opcode == "call" ||
                               instruction.opcode == "conditional" || instruction.opcode == "async-start";
            const XlaCost& cost = costs.instructions[c][i];
            if (calls || (cost.flops == 0 && cost.bytes == 0 && cost.transcendentals == 0)) continue;
            ModuleOp op;
            describe(instruction, op);
            op.count = times;
            op.flops = cost.flops * times;
            op.matmul_flops = product_flops_of(computation, instruction, cost) * times;
            op.transcendentals = cost.transcendentals * times;
            op.bytes = cost.bytes * times;
            answer.ops.push_back(std::move(op));
        }
    }
    const XlaCost& total = costs.total;
    answer.flops = total.flops;
    answer.transcendentals = total.transcendentals;
    answer.bytes = total.bytes;
    answer.matmul_flops = executions.product_flops;
}

// The result of the statement by which a kernel is called: the one with a matmul, or else the last.
ValueId named_by(const KernelWork& kernel) {
    const Statement* chosen = kernel.statements.back();
    for (const Statement* statement : kernel.statements) {
        const bool product = std::any_of(statement->ops.begin(), statement->ops.end(),
                                         [](const Op& op) { return op.kind == OpKind::contract; });
        if (product) chosen = statement;
    }
    return chosen->result;
}

// A function that several calls share has no lines of its own: those of the calls are meant.
void describe_call(const XlaInstruction& call, ModuleOp& op) {
    if (!op.source.empty()) return;
    op.source = place_of(call.origin);
    const std::string_view scope = call.origin.op_name;
    if (scope.empty() || op.scope.starts_with(scope)) return;
    op.scope = op.scope.empty() ? std::string(scope) : fmt::format("{}/{}", scope, op.scope);
}

bool is_unmeasured(const KernelWork& kernel) {
    return std::any_of(kernel.statements.begin(), kernel.statements.end(), [](const Statement* statement) {
        return std::any_of(statement->ops.begin(), statement->ops.end(), [](const Op& op) {
            return op.kind == OpKind::apply && find_function(op.function)->kind == FunctionKind::opaque;
        });
    });
}

// The error of the total is the average of the kernels' errors, weighted by their times.
void add_error(ModuleAnswer& answer) {
    const Prediction& prediction = *answer.prediction;
    answer.expected_error = prediction.expected_error;
    if (!answer.expected_s || !answer.expected_error) return;
    double unmeasured = 0;
    std::size_t kernels = 0;
    for (const ModuleOp& op : answer.ops) {
        if (!op.unmeasured) continue;
        unmeasured += op.seconds;
        ++kernels;
    }
    if (kernels == 0) return;
    const double share = unmeasured / *answer.expected_s;
    answer.expected_error = *answer.expected_error * (1 - share) + share;
    answer.notes.push_back(
        fmt::format("{} kernel{} with {:.1f} % of the expected time {} of no kind that was measured (sorts, custom "
                    "calls): the time "
                    "of an elementwise kernel with the same work is taken, and its error counts as 100 %",
                    kernels, kernels == 1 ? "" : "s", 100 * share, kernels == 1 ? "is" : "are"));
}

double value_at(const Prediction& prediction, const Polynomial& polynomial) {
    const auto value = count(prediction.program, polynomial);
    return value ? value->to_double() : 0;
}

// The counts of all executions of a kernel, and their lower bound.
void count_work(const Prediction& prediction, const KernelWork& kernel, const Analysis& times, ModuleOp& op) {
    op.count = value_at(prediction, kernel.count);
    op.flops = value_at(prediction, times.work.flops());
    for (const MatmulShape& product : kernel.matmuls) {
        op.matmul_flops += value_at(prediction, product.flops) * op.count;
    }
    op.transcendentals = value_at(prediction, times.work.transcendentals);
    for (const auto& [level, traffic] : times.work.memory) {
        if (level == "hbm") op.bytes += value_at(prediction, traffic.total());
    }
    op.lower_s = times.bounds.lower;
    if (const Resource* bound = times.bound_resource()) op.bound_by = bound->label;
}

// Where some kernels have no model, the others are expected to take their times, and these at least their launches.
void expect_the_rest(Prediction& prediction, const std::string& software, std::optional<LaunchFloor>& floor) {
    if (!prediction.calibrations || !prediction.analysis.total.seconds) return;
    floor = launch_floor(*prediction.calibrations, prediction.machine, software);
    if (floor && prediction.runs.empty())
        prediction.runs = kernel_runs(prediction.program, prediction.analysis, chip_traits(prediction.machine));
}

void add_program_ops(const XlaModule& module, const ImportedProgram& imported, const std::string& software,
                     ModuleAnswer& answer) {
    answer.expected = answer.prediction->expected_s.has_value();
    if (!answer.expected) expect_the_rest(*answer.prediction, software, answer.floor);
    const Prediction& prediction = *answer.prediction;
    const ProgramAnalysis& analysis = prediction.analysis;
    std::vector<std::optional<double>> expected = expected_of_kernels(prediction);
    std::vector<double> seconds;
    std::vector<std::optional<double>> floors;
    for (std::size_t k = 0; k < analysis.work.kernels.size(); ++k) {
        const Analysis& times = analysis.kernels.empty() ? analysis.total : analysis.kernels[k];
        // A model may be below the bound of a kernel whose like was measured with a warm cache.
        if (expected[k]) expected[k] = std::max(*expected[k], times.bounds.lower);
        const bool works = !times.work.compute.empty() || !times.work.memory.empty();
        const bool launched = answer.floor && !expected[k] && works;
        floors.emplace_back();
        if (launched) floors.back() = answer.floor->seconds * value_at(prediction, analysis.work.kernels[k].count);
        const bool known = answer.expected || answer.floor;
        seconds.push_back(known ? expected[k].value_or(times.bounds.lower + floors.back().value_or(0))
                                : times.bounds.lower);
    }
    const std::vector<double> hidden = hidden_seconds(*prediction.local, imported.started, analysis.work, seconds);
    std::vector<ModuleOp> counted;  // by kernel: one with the counts of all that are alike
    for (std::size_t k = 0; k < analysis.work.kernels.size(); ++k) {
        const KernelWork& kernel = analysis.work.kernels[k];
        const Analysis& times = analysis.kernels.empty() ? analysis.total : analysis.kernels[k];
        ModuleOp op;
        if (kernel.like < k) {
            op = counted[kernel.like];
        } else {
            count_work(prediction, kernel, times, op);
        }
        counted.push_back(op);
        const ValueId result = named_by(kernel);
        const InstructionRef ref = imported.made_by[result].value_or(InstructionRef{});
        describe(module.computations[ref.computation].instructions[ref.instruction], op);
        if (const auto& call = imported.called_by[result]) {
            describe_call(module.computations[call->computation].instructions[call->instruction], op);
        }
        op.expected_s = expected[k];
        op.floor_s = floors[k];
        op.hidden_s = hidden[k];
        op.seconds = seconds[k] - hidden[k];
        op.unmeasured = is_unmeasured(kernel);
        answer.hidden_s += op.hidden_s;
        if (!times.work.messages.empty()) answer.exposed_s = answer.exposed_s.value_or(0) + op.seconds;
        const bool nothing = op.flops == 0 && op.bytes == 0 && op.transcendentals == 0 && times.work.messages.empty();
        if (nothing) continue;  // other names for what is in memory
        answer.flops += op.flops;
        answer.matmul_flops += op.matmul_flops;
        answer.transcendentals += op.transcendentals;
        answer.bytes += op.bytes;
        if (op.recomputed) answer.recomputed_flops += op.flops;
        answer.ops.push_back(std::move(op));
    }
    if (answer.expected || answer.floor) {
        const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
        (answer.expected ? answer.expected_s : answer.at_least_s) =
            std::max(all - answer.hidden_s, analysis.total.bounds.lower);
    }
    if (std::any_of(answer.ops.begin(), answer.ops.end(), [](const ModuleOp& op) { return op.floor_s.has_value(); }))
        answer.notes.push_back(
            fmt::format("for kernels without a calibration the time is the bound plus {}", floor_text(*answer.floor)));
}

// A module for several devices on a single chip: its collectives have no links.
void without_messages(Block& block) {
    for (Node& node : block.nodes) {
        if (auto* inner = std::get_if<Block>(&node)) {
            without_messages(*inner);
        } else {
            std::get<Statement>(node).messages.clear();
        }
    }
}

Status predict_module(const XlaModule& module, const XlaModuleCost& costs, const Slice& slice,
                      const ModuleQuestion& question, const std::shared_ptr<Calibrations>& calibrations,
                      ModuleAnswer& answer) {
    ImportOptions import_options;
    import_options.loops = question.loops;
    const bool lays_out = slice.chips() > 1 && is_before_partitioning(module);
    if (!question.mesh.empty() && !lays_out) {
        return fail(
            "no_shardings",
            slice.chips() == 1
                ? fmt::format("{} is one chip, and a mesh divides several", slice.machine.id)
                : fmt::format("{} does not say how its arrays are split, or was partitioned already", answer.name),
            "give a slice and a module from before partitioning with shardings of its arguments; or write the "
            "module in the notation, and split the program by hand");
    }
    ROOFLINE_TRY(ImportedProgram imported, lays_out ? sharded_program(module, costs, answer.name, question)
                                                    : lower_module(module, costs, answer.name, import_options));
    answer.devices = imported.devices;
    answer.notes = imported.notes;
    if (!lays_out) answer.memory = module_memory(module, imported);
    const bool scheduled = module.attribute("is_scheduled") == "true";
    if (!scheduled) {
        answer.notes.emplace_back(
            "the module is not scheduled yet: the peak of its memory is that of its instructions in "
            "the order in which they are written, which a compiler improves");
    }
    if (slice.chips() != imported.devices && slice.chips() > 1) {
        return fail("bad_mesh",
                    fmt::format("{} is for {} device{}, but the slice {} has {} chips", answer.name, imported.devices,
                                imported.devices == 1 ? "" : "s", slice.shape_text(), slice.chips()),
                    "name a slice with as many chips as the module was compiled for");
    }
    if (slice.chips() == 1 && imported.devices > 1) {
        without_messages(imported.program.body);
        imported.program.mesh.clear();
        answer.notes.push_back(
            fmt::format("the module is for {0} devices, and {1} is one chip: collectives are counted "
                        "and take no time; give a slice, such as --on {1}:{0}",
                        imported.devices, slice.machine.id));
    }
    if (imported.program.body.nodes.empty()) {
        answer.notes.emplace_back(
            "the module computes nothing that takes time: its results are its arguments or numbers");
        return {};
    }
    PredictOptions options;
    options.name = answer.name;
    options.software = question.software;
    options.freedom = LayoutFreedom::as_written;
    options.alternatives = Alternatives::none;
    options.routing = TokenRouting::least;
    options.growth = false;
    options.titles = false;
    options.footprint = false;  // arrays of a module are not all there at once
    if (lays_out) options.freedom = layout_freedom(imported.program);
    ROOFLINE_TRY(System system, plan_system(slice, imported.program, {}));
    Program program = lays_out ? imported.program : std::move(imported.program);
    ROOFLINE_TRY(answer.prediction, predict(std::move(program), std::move(system), options, calibrations));
    if (lays_out) take_laid_out(imported, module, answer);
    const auto* memory = answer.prediction->machine.level("hbm");
    if (memory != nullptr && memory->total_capacity()) answer.memory.capacity = memory->total_capacity()->value;
    add_program_ops(module, imported, question.software, answer);
    add_error(answer);
    for (const ImportGap& gap : imported.gaps) {
        if (std::find(answer.gaps.begin(), answer.gaps.end(), gap.what) == answer.gaps.end()) {
            answer.gaps.push_back(gap.what);
        }
    }
    return {};
}

}  // namespace

Result<ModuleAnswer> answer_module(const XlaModule& module, const std::string& name, const std::optional<Slice>& slice,
                                   const ModuleQuestion& question, const std::shared_ptr<Calibrations>& calibrations) {
    ModuleAnswer answer;
    answer.name = name;
    answer.counting = question.counting;
    for (const XlaComputation& computation : module.computations)
        answer.instructions += computation.instructions.size();
    ROOFLINE_TRY(const XlaModuleCost costs, xla_cost(module, cost_options(question)));
    const bool ours = question.counting == ModuleCounting::ours;
    const XlaExecutions executions = xla_executions(module, costs, ours);
    answer.collectives = executions.collectives;
    add_loops(module, costs, question, answer);
    if (ours) {
        if (!slice) return fail("no_machine", "no machine is given", "for example --on h100-sxm:8");
        ROOFLINE_CHECK(predict_module(module, costs, *slice, question, calibrations, answer));
    } else {
        add_xla_ops(module, costs, executions, answer);
        for (const auto& [target, times] : executions.custom_calls) {
            answer.gaps.push_back(
                fmt::format("custom-call {}, {} times: where it states no cost XLA's analysis enters "
                            "-1; here it counts nothing",
                            target, times));
        }
    }
    sort_by_time(answer.ops);
    add_groups(answer);
    return answer;
}

}  // namespace roofline::core
