#include "program/adjoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "program/functions.hpp"
#include "program/step_draft.hpp"

namespace roofline::core {

namespace {

// Returns the forward pass unchanged, except that stashed parts of expressions are stored; they stay in one kernel with
// the rest.
DraftBlock forward_pass(const ForwardDraft& forward, std::size_t at, const std::vector<bool>& stashed, bool params) {
    DraftBlock block;
    block.of_block = at;
    const auto add = [&](const Statement& statement, DraftBlock& to) {
        for (const Op& op : statement.ops) {
            const ValueId id = op.output.value;
            if (id != statement.result && !stashed[id]) continue;
            to.nodes.emplace_back(DraftStatement{id, forward.made(id, stashed), StepPhase::forward, statement.part,
                                                 statement.using_dtype, statement.span});
        }
    };
    for (const ForwardNode& node : forward.blocks[at].nodes) {
        if (node.kind == ForwardNode::Kind::declaration) {
            if (params || !forward.program.values[node.id].param) block.nodes.emplace_back(DraftDeclaration{node.id});
        } else if (node.kind == ForwardNode::Kind::block) {
            DraftBlock inner = forward_pass(forward, node.id, stashed, params);
            inner.kind = Block::Kind::repeat;
            inner.count = forward.blocks[node.id].count;
            block.nodes.emplace_back(std::move(inner));
        } else {
            DraftBlock fuse;
            fuse.kind = Block::Kind::fuse;
            for (const Statement* statement : forward.units[node.id].statements) add(*statement, fuse);
            if (fuse.nodes.size() == 1) {
                block.nodes.push_back(std::move(fuse.nodes.front()));
            } else {
                block.nodes.emplace_back(std::move(fuse));
            }
        }
    }
    return block;
}

// Declares parameters, and the tensors in which their gradients accumulate, before the first of several micro-batches.
DraftBlock declared_params(const ForwardDraft& forward, std::size_t at, const std::map<ValueId, ValueId>& sums) {
    DraftBlock block;
    for (const ForwardNode& node : forward.blocks[at].nodes) {
        if (node.kind == ForwardNode::Kind::declaration && forward.program.values[node.id].param) {
            block.nodes.emplace_back(DraftDeclaration{node.id});
            const auto sum = sums.find(node.id);
            if (sum != sums.end()) block.nodes.emplace_back(DraftDeclaration{sum->second});
        } else if (node.kind == ForwardNode::Kind::block) {
            DraftBlock inner = declared_params(forward, node.id, sums);
            inner.kind = Block::Kind::repeat;
            inner.count = forward.blocks[node.id].count;
            if (!inner.nodes.empty()) block.nodes.emplace_back(std::move(inner));
        }
    }
    return block;
}

// Returns the whole step: forward and backward pass once per micro-batch, then the optimizer.
DraftBlock whole_step(ForwardDraft& forward, const BackwardDraft& backward, const OptimizerDraft& optimizer,
                      std::int64_t microbatches) {
    DraftBlock step;
    if (microbatches == 1) {
        step.nodes = {forward_pass(forward, 0, backward.stashed, true), backward.body, optimizer.body};
        return step;
    }
    const std::string count = "#microbatches";  // an anonymous dimension
    forward.program.sizes[count] = microbatches;
    DraftBlock passes;
    passes.kind = Block::Kind::repeat;
    passes.count = count;
    passes.nodes = {forward_pass(forward, 0, backward.stashed, false), backward.body};
    step.nodes = {declared_params(forward, 0, backward.sums), std::move(passes), optimizer.body};
    return step;
}

Status check_options(const TrainingOptions& options) {
    if (options.microbatches < 1) {
        return fail("size", fmt::format("{} micro-batches", options.microbatches), "a step needs at least one");
    }
    if (info(options.moments).kind != DtypeKind::floating) {
        return fail("bad_value", fmt::format("moments in {}", name(options.moments)),
                    "moments need a floating-point dtype");
    }
    return {};
}

Status check_kept(const ForwardDraft& forward, const TrainingOptions& options) {
    std::vector<std::string> known;
    for (ValueId id = 0; id < forward.made_by.size(); ++id) {
        if (forward.made_by[id] != nullptr && !forward.program.values[id].intermediate) {
            const std::string& name = forward.source_name[id];
            if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
        }
    }
    for (const std::string& name : options.kept) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        return fail("unknown_name", fmt::format("the forward pass computes no tensor `{}`", name.substr(0, 40)),
                    did_you_mean(name, known, fmt::format("it computes {}", fmt::join(known, ", "))));
    }
    return {};
}

void keep_in(Dtype dtype, const std::vector<bool>& stashed, Program& program) {
    for (ValueId id = 0; id < stashed.size(); ++id) {
        Dtype& its = program.values[id].type.dtype;
        if (stashed[id] && info(its).bits > info(dtype).bits) its = dtype;
    }
}

std::vector<std::string> counts_around(const ForwardDraft& forward, ValueId id) {
    std::vector<std::string> counts;
    for (std::size_t at = forward.home[id]; at != 0; at = forward.blocks[at].parent) {
        counts.insert(counts.begin(), forward.blocks[at].count);
    }
    return counts;
}

}  // namespace

Result<TrainingProgram> training_step(const Program& forward, const TrainingOptions& options) {
    ROOFLINE_CHECK(check_options(options));
    ROOFLINE_TRY(auto draft, analyse_forward(forward));
    ROOFLINE_CHECK(check_kept(draft, options));
    Names names(draft.program);
    ROOFLINE_TRY(auto backward, differentiate(draft, options, names));
    const std::vector<ValueId> kept = rematerialise(draft, backward, options, names);
    const OptimizerDraft optimizer = optimizer_of(draft, backward, options, names);
    if (options.kept_products) keep_in(*options.kept_products, backward.stashed, draft.program);

    const DraftBlock whole = whole_step(draft, backward, optimizer, options.microbatches);
    StepWriter writer(draft, backward.stashed);
    ROOFLINE_CHECK(writer.write(whole));
    std::vector<StepTensor> tensors;
    const auto add = [&](ValueId id, StepRole role, ValueId like) {
        const bool apart = role == StepRole::gradient || role == StepRole::optimizer_state;
        tensors.push_back({writer.written(id), role, counts_around(draft, like),
                           apart ? std::optional(writer.written(like)) : std::nullopt});
    };
    for (ValueId id = 0; id < draft.made_by.size(); ++id) {
        if (draft.program.values[id].param) add(id, StepRole::param, id);
    }
    for (const auto& [param, gradient] : backward.gradients) add(gradient, StepRole::gradient, param);
    for (const ValueId id : kept) add(id, StepRole::activation, id);
    for (const auto& [state, param] : optimizer.states) add(state, StepRole::optimizer_state, param);
    TrainingProgram step = writer.finish();
    std::sort(tensors.begin(), tensors.end(),
              [](const StepTensor& a, const StepTensor& b) { return a.value < b.value; });
    step.tensors = std::move(tensors);
    return step;
}

Result<TrainingOptions> remat_options(std::string_view words) {
    TrainingOptions options;
    if (words.empty() || words == "none") return options;
    constexpr std::pair<std::string_view, Remat> policies[] = {
        {"selective", Remat::selective}, {"alternate", Remat::alternate}, {"full", Remat::full}};
    for (const auto& [word, policy] : policies) {
        if (words != word) continue;
        options.remat = policy;
        return options;
    }
    options.remat = Remat::named;
    for (std::size_t begin = 0; begin <= words.size();) {
        const std::size_t end = std::min(words.find(',', begin), words.size());
        options.kept.emplace_back(words.substr(begin, end - begin));
        if (options.kept.back().empty()) {
            return fail("usage", fmt::format("`{}` contains an empty name", words.substr(0, 40)),
                        "name the tensors to keep: --remat Q,Hm; or use none, selective, alternate, full");
        }
        begin = end + 1;
    }
    return options;
}

Polynomial bytes_of(const TrainingProgram& step, StepRole role) {
    Polynomial sum;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role != role) continue;
        Polynomial bytes = bytes_of(step.program.local_dims, step.program.values[tensor.value]);
        for (const std::string& count : tensor.repeats) bytes *= Polynomial::dim(count);
        sum += bytes;
    }
    return sum;
}

Result<Program> with_loss(const Program& forward, bool f32_logits) {
    Program program = forward;
    if (program.body.nodes.empty() || !std::holds_alternative<Statement>(program.body.nodes.back())) {
        return fail("result_type", "the program does not end with a statement from whose result a loss can be computed",
                    "end it with the logits: Logits : bf16[B, T, V] = X *_D Head");
    }
    ValueId logits = std::get<Statement>(program.body.nodes.back()).result;
    const std::vector<Axis> axes = program.values[logits].type.axes;
    if (axes.empty()) {
        return fail("result_type",
                    "a loss is computed along the last dimension of the last result, but that has no dimensions",
                    "end the program with the logits: Logits : bf16[B, T, V] = X *_D Head");
    }
    const auto taken = [&](std::string_view name) {
        return std::any_of(program.values.begin(), program.values.end(),
                           [&](const Value& value) { return value.name == name; });
    };
    std::vector<std::string_view> names{"Labels", "Lse", "Loss"};
    if (f32_logits) names.insert(names.end(), {"Logits_f32", "LogP"});
    for (const std::string_view name : names) {
        if (taken(name)) {
            return fail("defined_twice",
                        fmt::format("the program has a tensor `{}`, but the loss needs this name", name),
                        "give that tensor another name");
        }
    }
    const std::string along = axes.back().dim;
    std::vector<std::string> all;
    for (const Axis& axis : axes) all.push_back(axis.dim);
    const std::vector<std::string> rows(all.begin(), all.end() - 1);
    const auto add = [&](const std::string& name, Dtype dtype, bool intermediate) {
        Value value;
        value.name = name;
        value.type.dtype = dtype;
        value.part = "loss";
        value.intermediate = intermediate;
        for (const std::string& dim : rows) value.type.axes.push_back({dim, {}});
        program.values.push_back(std::move(value));
        return program.values.size() - 1;
    };
    const auto append = [&](std::vector<Op> ops, ValueId result) {
        Statement statement;
        statement.part = "loss";
        statement.ops = std::move(ops);
        statement.result = result;
        program.body.nodes.emplace_back(std::move(statement));
    };
    if (f32_logits) {
        Value wide = program.values[logits];
        wide.name = "Logits_f32";
        wide.type.dtype = Dtype::f32;
        wide.part = "loss";
        program.values.push_back(std::move(wide));
        Op convert;
        convert.kind = OpKind::move;
        convert.inputs = {{logits, all}};
        logits = program.values.size() - 1;
        convert.output = {logits, all};
        append({std::move(convert)}, logits);
    }
    const Dtype dtype = program.values[logits].type.dtype;
    const auto op = [&](const char* function, std::vector<Operand> inputs, ValueId output, bool works_along) {
        Op made;
        made.function = function;
        made.inputs = std::move(inputs);
        made.output = {output, rows};
        if (works_along) made.along = {along};
        made.arithmetic = info(dtype).arithmetic;
        return made;
    };
    const ValueId labels = add("Labels", Dtype::int32, false);
    const ValueId sum = add("Lse", Dtype::f32, false);
    const ValueId picked = add("", dtype, true);
    const ValueId loss = add("Loss", Dtype::f32, false);
    program.values[picked].part.clear();
    append({op("logsumexp", {{logits, all}}, sum, true)}, sum);
    if (f32_logits) {  // log-probabilities are stored, and one of each row is gathered
        Value plane = program.values[logits];
        plane.name = "LogP";
        program.values.push_back(std::move(plane));
        const ValueId log_p = program.values.size() - 1;
        Op less = op("sub", {{logits, all}, {sum, rows}}, log_p, false);
        less.output.dims = all;
        append({std::move(less)}, log_p);
        append({op("gather", {{log_p, all}, {labels, rows}}, picked, true), op("neg", {{picked, rows}}, loss, false)},
               loss);
    } else {
        Op less = op("sub", {{sum, rows}, {picked, rows}}, loss, false);
        less.arithmetic = Dtype::f32;
        append({op("gather", {{logits, all}, {labels, rows}}, picked, true), std::move(less)}, loss);
    }
    program.body.values_after = program.values.size();
    label_values(program);
    return program;
}

}  // namespace roofline::core
