#include "import/xla/lower/lower_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/ascii.hpp"
#include "import/xla/cost/trip_count.hpp"
#include "import/xla/lower/module_lowering.hpp"

namespace roofline::core {

namespace {

// Programs beyond this are no steps of anything; a module of this size has a few million instructions.
constexpr std::size_t most_statements = 1'000'000;
constexpr int deepest_call = 200;

// There are several for each instruction: format() would take a tenth of the time of a module.
template <class Number>
void append_number(std::string& text, Number number) {
    const fmt::format_int digits(number);
    text.append(digits.data(), digits.size());
}

// Names of HLO have characters that names of the notation lack.
std::string spoken_name(std::string_view name) {
    std::string text;
    bool upper = true;
    for (const char c : name) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !is_digit(c)) {
            if (!text.empty() && is_digit(text.back())) text += '_';
            upper = !text.empty() && text.back() != '_';
            continue;
        }
        if (text.empty() && !letter) text += 'V';
        text += upper && letter ? to_upper(c) : c;
        upper = false;
    }
    return text.empty() ? "V" : text;
}

// Arrays at the same places of two tuples, where they are not the same array.
void add_carried(const Bound& first, const Bound& last, std::vector<std::pair<ValueId, ValueId>>& pairs) {
    if (first.value && last.value && *first.value != *last.value) pairs.emplace_back(*first.value, *last.value);
    if (!first.parts || !last.parts) return;
    for (std::size_t i = 0; i < std::min(first.parts->size(), last.parts->size()); ++i) {
        add_carried((*first.parts)[i], (*last.parts)[i], pairs);
    }
}

void add_arrays(const Bound& bound, std::vector<ValueId>& arrays) {
    if (bound.value) arrays.push_back(*bound.value);
    if (!bound.parts) return;
    for (const Bound& part : *bound.parts) add_arrays(part, arrays);
}

// The part of a tuple at a path such as `{0,1}`; null if it has no such part.
const Bound* part_at(const Bound& bound, const std::vector<std::int64_t>& path) {
    const Bound* at = &bound;
    for (const std::int64_t index : path) {
        if (!at->parts || index < 0 || static_cast<std::size_t>(index) >= at->parts->size()) return nullptr;
        at = &(*at->parts)[static_cast<std::size_t>(index)];
    }
    return at;
}

bool is_start(std::string_view opcode) { return opcode.ends_with("-start"); }
bool is_done(std::string_view opcode) { return opcode.ends_with("-done") || opcode.ends_with("-update"); }

}  // namespace

std::string DimNames::add(std::int64_t size) {
    auto found = std::find_if(used_.begin(), used_.end(), [&](const auto& used) { return used.first == size; });
    if (found == used_.end()) found = used_.insert(used_.end(), {size, 0});
    const int uses = found->second++;
    std::string name = "#";
    append_number(name, size);
    if (uses > 0) {
        name += '.';
        append_number(name, uses);
    }
    if (program_.sizes.find(name) == program_.sizes.end()) program_.sizes.emplace(name, size);
    return name;
}

std::vector<std::string> DimNames::add_all(const XlaShape& shape) {
    std::vector<std::string> names;
    for (const std::int64_t size : shape.dims) {
        if (size != 1) names.push_back(add(size));
    }
    if (shape.element->kind == XlaElement::Kind::complex) names.push_back(add(2));
    return names;
}

Bound number_of_shape(const XlaShape& shape, double value) {
    Bound bound;
    bound.shape = shape;
    bound.number = true;
    bound.constant = value;
    return bound;
}

Dtype arithmetic_of_shape(const XlaShape& shape) { return info(shape.element->dtype).arithmetic; }

bool are_dims(const std::vector<std::int64_t>& dims, std::size_t rank) {
    std::vector<bool> seen(rank, false);
    for (const std::int64_t dim : dims) {
        if (dim < 0 || static_cast<std::size_t>(dim) >= rank || seen[static_cast<std::size_t>(dim)]) return false;
        seen[static_cast<std::size_t>(dim)] = true;
    }
    return true;
}

Operand operand(const Bound& bound, std::vector<std::string> dims) { return {*bound.value, std::move(dims)}; }

ModuleLowering::ModuleLowering(const XlaModule& module, const XlaModuleCost& costs, const std::string& name,
                               const ImportOptions& options)
    : module_(module), costs_(costs), source_(*module.text, name), options_(options) {
    const bool scheduled = module.attribute("is_scheduled") == "true";
    compiled_ = scheduled ||
                std::any_of(module.computations.begin(), module.computations.end(), [](const XlaComputation& each) {
                    return std::any_of(each.instructions.begin(), each.instructions.end(),
                                       [](const XlaInstruction& one) { return one.opcode == "fusion"; });
                });
}

Result<ImportedProgram> ModuleLowering::lower() {
    const XlaComputation& main = module_.main();
    Bounds arguments;
    for (std::uint32_t i = 0; i < main.instructions.size(); ++i) {
        const XlaInstruction& each = main.instructions[i];
        if (each.opcode != "parameter") continue;
        const auto number = number_list("{" + std::string(each.literal) + "}");
        const std::size_t place = number && number->size() == 1 && number->front() >= 0 && number->front() < 1'000'000
                                      ? static_cast<std::size_t>(number->front())
                                      : std::numeric_limits<std::size_t>::max();
        if (place > main.instructions.size()) return fail_at({module_.entry, i}, "the number of a parameter is wrong");
        arguments.resize(std::max(arguments.size(), place + 1));
        arguments[place] = input(each.shape, each.name, InstructionRef{module_.entry, i});
    }
    ROOFLINE_TRY(Bound result, computation(module_.entry, arguments, out_.program.body));
    // What a module returns is in memory, also before a compiler has made a kernel of a broadcast.
    result = stored({module_.entry, main.root}, result, out_.program.body);
    add_arrays(result, out_.results);
    share_donated(arguments, result);
    for (const auto& [loop, count] : options_.loops) {
        const bool known = std::any_of(out_.loops.begin(), out_.loops.end(),
                                       [&](const ImportedLoop& each) { return at(each.instruction).name == loop; });
        if (known) continue;
        std::vector<std::string> names;
        for (const ImportedLoop& each : out_.loops) names.emplace_back(at(each.instruction).name);
        return fail("unknown_loop", fmt::format("the module has no loop {}", in_ticks(loop)),
                    did_you_mean(loop, names, names.empty() ? "it has no loops" : "its loops are named in the answer"));
    }
    ROOFLINE_CHECK(place_collectives());
    std::sort(out_.started.begin(), out_.started.end(),
              [](const ImportedAsync& a, const ImportedAsync& b) { return a.first < b.first; });
    out_.program.body.values_after = out_.program.values.size();
    if (options_.fuse) {
        if (!compiled_) {
            group_statements(out_.program);
            out_.notes.emplace_back(
                "the module has no fusions yet: elementwise operations are taken to be fused with "
                "their neighbours, as compilers do");
        }
    }
    keep_results();
    label_values(out_.program);
    return std::move(out_);
}

Result<Bound> ModuleLowering::computation(std::uint32_t index, const Bounds& arguments, Block& into) {
    const XlaComputation& all = module_.computations[index];
    if (++depth_ > deepest_call)
        return fail_at({index, all.root}, "computations call each other deeper than 200 levels");
    Bounds bounds;
    bounds.reserve(all.instructions.size());
    std::map<std::uint32_t, std::size_t> started;
    const std::vector<bool> unused = unused_views(all);
    for (std::uint32_t i = 0; i < all.instructions.size(); ++i) {
        if (unused[i]) {
            bounds.emplace_back();
            continue;
        }
        if (++statements_ > most_statements) {
            return fail_at({index, i}, "the module has more than a million instructions once its calls are inlined");
        }
        Bounds operands;
        for (const std::uint32_t each : all.instructions[i].operands) operands.push_back(bounds[each]);
        const ValueId before = out_.program.values.size();
        ROOFLINE_TRY(Bound bound, instruction({index, i}, operands, arguments, into));
        follow({index, i}, before, started);
        bounds.push_back(std::move(bound));
    }
    --depth_;
    return bounds[all.root];
}

Result<Bound> ModuleLowering::instruction(InstructionRef ref, const Bounds& operands, const Bounds& arguments,
                                          Block& into) {
    const XlaInstruction& each = at(ref);
    const std::string_view opcode = each.opcode;
    if (opcode == "parameter") {
        const auto number = number_list("{" + std::string(each.literal) + "}");
        if (!number || number->size() != 1 || number->front() < 0 ||
            static_cast<std::size_t>(number->front()) >= arguments.size()) {
            return fail_at(ref, "the computation is called without this parameter");
        }
        Bound bound = arguments[static_cast<std::size_t>(number->front())];
        return bound;
    }
    if (opcode == "tuple") return tuple(inside_fusion_ ? operands : all_in_memory(ref, operands, into), each.shape);
    if (opcode == "get-tuple-element") {
        ROOFLINE_CHECK(want_operands(ref, 1));
        const auto index = each.number("index");
        const auto& parts = operands[0].parts;
        if (!index || !parts || *index < 0 || static_cast<std::size_t>(*index) >= parts->size()) {
            return fail_at(ref, "its operand is no tuple with such a part");
        }
        return (*parts)[static_cast<std::size_t>(*index)];
    }
    if (opcode == "fusion") return fusion(ref, operands, into);
    if (opcode == "while") return loop(ref, operands, into);
    if (opcode == "conditional") return conditional(ref, operands, into);
    if (opcode == "call" || opcode == "async-start" ||
        (is_start(opcode) && !each.called.empty() && opcode != "all-reduce-start")) {
        if (each.called.empty()) return fail_at(ref, "it calls no computation");
        const auto outer = caller_;
        if (!each.origin.file.empty()) caller_ = ref;
        auto result = computation(each.called.front(), operands, into);
        caller_ = outer;
        return result;
    }
    if (is_done(opcode)) {
        ROOFLINE_CHECK(want_operands(ref, 1));
        Bound done = operands[0];
        // The start of an asynchronous operation may return its operands beside its results.
        if (done.parts && !each.shape.is_tuple()) {
            for (const Bound& part : *done.parts) {
                if (part.shape.dims == each.shape.dims && part.shape.element == each.shape.element) done = part;
            }
        }
        return done;
    }
    return operation(ref, operands, into);
}

Result<Bound> ModuleLowering::fusion(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    if (each.called.size() != 1) return fail_at(ref, "a fusion calls one computation");
    if (inside_fusion_) return computation(each.called.front(), operands, into);
    Block block;
    block.kind = Block::Kind::fuse;
    block.values_before = out_.program.values.size();
    inside_fusion_ = true;
    auto result = computation(each.called.front(), operands, block);
    // What a fusion returns is in memory afterwards, also if it is only a number that was broadcast.
    if (result) result = stored(ref, *result, block);
    inside_fusion_ = false;
    if (!result) return result;
    block.values_after = out_.program.values.size();
    for (std::size_t i = block.values_before; i < block.values_after; ++i) out_.made_by[i] = ref;
    if (block.nodes.empty()) return result;  // only other names for its operands
    into.nodes.emplace_back(std::move(block));
    return result;
}

void ModuleLowering::follow(InstructionRef ref, ValueId before, std::map<std::uint32_t, std::size_t>& started) {
    const XlaInstruction& each = at(ref);
    const ValueId now = out_.program.values.size();
    if (is_start(each.opcode) && now > before && !inside_fusion_) {
        started[ref.instruction] = out_.started.size();
        out_.started.push_back({ref, before, now, now});
    }
    const auto found = is_done(each.opcode) && !each.operands.empty() ? started.find(each.operands[0]) : started.end();
    if (found == started.end()) return;
    if (each.opcode.ends_with("-update")) {
        started[ref.instruction] = found->second;
    } else {
        out_.started[found->second].until = now;
    }
}

// What an iteration leaves for the next one is stored.
void ModuleLowering::carry(const Bound& root) {
    if (root.parts) {
        for (const Bound& part : *root.parts) carry(part);
    }
    if (root.value) out_.program.values[*root.value].carried = true;
}

void ModuleLowering::share_memory(const Bound& one, const Bound& other) {
    if (one.value && other.value && *one.value != *other.value)
        out_.shared_memory.emplace_back(*one.value, *other.value);
    if (!one.parts || !other.parts) return;
    for (std::size_t i = 0; i < std::min(one.parts->size(), other.parts->size()); ++i) {
        share_memory((*one.parts)[i], (*other.parts)[i]);
    }
}

// `{ {0}: (0, {}, may-alias), {1,2}: (3, {1}) }`: a result, and the parameter and the part of it with the same memory.
void ModuleLowering::share_donated(const Bounds& arguments, const Bound& result) {
    std::string_view text = module_.attribute("input_output_alias").value_or("");
    while (true) {
        const std::size_t colon = text.find("}: (");
        if (colon == std::string_view::npos) return;
        const std::size_t open = text.substr(0, colon).rfind('{');
        const std::size_t close = text.find('}', colon + 1);
        const std::size_t inner = text.find('{', colon);
        if (open == std::string_view::npos || close == std::string_view::npos || inner > close) return;
        const auto path = number_list(text.substr(open, colon + 1 - open));
        const auto part = number_list(text.substr(inner, close + 1 - inner));
        const std::string_view number = text.substr(colon + 4, text.find(',', colon) - colon - 4);
        const auto parameter = number_list("{" + std::string(number) + "}");
        if (path && part && parameter && parameter->size() == 1 && parameter->front() >= 0 &&
            static_cast<std::size_t>(parameter->front()) < arguments.size()) {
            const Bound* from = part_at(arguments[static_cast<std::size_t>(parameter->front())], *part);
            const Bound* to = part_at(result, *path);
            if (from != nullptr && to != nullptr) share_memory(*from, *to);
        }
        text.remove_prefix(close);
    }
}

Bound ModuleLowering::stored(InstructionRef ref, const Bound& bound, Block& into) {
    if (!bound.parts) return bound.number && bound.shape.elements() == 1 ? bound : in_memory(ref, bound, into);
    std::vector<Bound> parts;
    for (const Bound& part : *bound.parts) parts.push_back(stored(ref, part, into));
    return tuple(std::move(parts), bound.shape);
}

Result<Bound> ModuleLowering::loop(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 1));
    if (each.called.size() != 2) return fail_at(ref, "a while has a condition and a body");
    ImportedLoop found{ref, 1, ImportedLoop::Known::assumed};
    const auto given = options_.loops.find(each.name);
    if (given != options_.loops.end()) {
        found = {ref, given->second, ImportedLoop::Known::given};
    } else if (const auto trips = trip_count(module_, each, module_.computations[ref.computation])) {
        found = {ref, *trips, ImportedLoop::Known::found};
    } else {
        gap(ref, fmt::format("while {}: the number of its iterations is unknown; one is counted", each.name));
    }
    out_.loops.push_back(found);
    if (found.trips <= 0) return operands[0];
    Block block;
    block.kind = Block::Kind::repeat;
    block.count = DimNames(out_.program).add(found.trips);
    block.values_before = out_.program.values.size();
    // What starts as zeros is read from memory by every other iteration.
    const Bound first = stored(ref, operands[0], into);
    ROOFLINE_TRY(Bound result, computation(each.called[1], {first}, block));
    block.values_after = out_.program.values.size();
    carry(result);
    share_memory(first, result);
    if (block.nodes.empty()) return result;
    into.nodes.emplace_back(std::move(block));
    out_.carried.emplace_back();
    add_carried(first, result, out_.carried.back());
    return result;
}

Result<Bound> ModuleLowering::conditional(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    if (each.called.empty() || operands.size() != each.called.size() + 1) {
        return fail_at(ref, "a conditional has an operand for each of its branches");
    }
    const auto flops = [&](std::size_t branch) { return costs_.computations[each.called[branch]].flops; };
    std::size_t most = 0;
    bool alike = true;
    for (std::size_t i = 1; i < each.called.size(); ++i) {
        alike = alike && flops(i) == flops(0);
        if (flops(i) > flops(most)) most = i;
    }
    if (!alike) {
        out_.notes.push_back(fmt::format("of the {} branches of {} the one with the most FLOPs counts, {}",
                                         each.called.size(), each.name, module_.computations[each.called[most]].name));
    }
    return computation(each.called[most], {operands[most + 1]}, into);
}

Bound ModuleLowering::tuple(std::vector<Bound> parts, const XlaShape& shape) const {
    Bound bound;
    bound.shape = shape;
    bound.parts = std::make_shared<const std::vector<Bound>>(std::move(parts));
    return bound;
}

ValueId ModuleLowering::new_value(const XlaShape& shape, std::string_view name, std::optional<InstructionRef> made) {
    Value value;
    value.name = spoken_name(name);
    value.name += '_';
    append_number(value.name, out_.program.values.size());
    value.type.dtype = shape.element->dtype;
    for (std::string& dim : DimNames(out_.program).add_all(shape)) value.type.axes.push_back({std::move(dim), {}});
    // Memory space 5 is the host's; 1 is a TPU's VMEM, whose layouts are tiled.
    if (shape.memory_space == 5) value.level = "host";
    if (shape.memory_space == 1 && shape.tiled) value.level = "vmem";
    out_.program.values.push_back(std::move(value));
    out_.made_by.push_back(made);
    out_.written_by.push_back(made);
    out_.called_by.push_back(caller_);
    return out_.program.values.size() - 1;
}

Bound ModuleLowering::input(const XlaShape& shape, std::string_view name, std::optional<InstructionRef> made) {
    Bound bound;
    bound.shape = shape;
    if (shape.is_tuple()) {
        std::vector<Bound> parts;
        for (const XlaShape& part : shape.parts) parts.push_back(input(part, name, made));
        return tuple(std::move(parts), shape);
    }
    if (shape.elements() > 0) bound.value = new_value(shape, name, made);
    return bound;
}

Bound ModuleLowering::emit(InstructionRef ref, Op op, const XlaShape& result, std::vector<std::string> dims,
                           Block& into) {
    Bound bound;
    bound.shape = result;
    bound.value = new_value(result, at(ref).name, ref);
    op.output = {*bound.value, std::move(dims)};
    Statement statement;
    statement.result = *bound.value;
    statement.ops.push_back(std::move(op));
    into.nodes.emplace_back(std::move(statement));
    return bound;
}

Bound ModuleLowering::in_memory(InstructionRef ref, const Bound& bound, Block& into, Numbers numbers) {
    if (bound.narrow) {
        Op op;
        op.function = "expand";
        op.arithmetic = info(bound.shape.element->dtype).arithmetic;
        DimNames names(out_.program);
        std::vector<std::string> all;
        std::vector<std::string> by_place;
        for (const std::int64_t size : bound.shape.dims) {
            by_place.push_back(size == 1 ? "" : names.add(size));
            if (size != 1) all.push_back(by_place.back());
        }
        std::vector<std::string> own;
        for (std::size_t d = 0; d < bound.places.size(); ++d) {
            if (bound.narrow->dims[d] != 1) own.push_back(by_place[bound.places[d]]);
        }
        for (const std::string& dim : all) {
            if (!has(own, dim)) op.along.push_back(dim);
        }
        op.inputs = {operand(bound, std::move(own))};
        return emit(ref, std::move(op), bound.shape, std::move(all), into);
    }
    const bool written = bound.number && numbers == Numbers::written && bound.shape.is_array();
    if (!written || bound.shape.elements() == 0) return bound;
    Op op;
    op.function = "iota";
    op.arithmetic = info(bound.shape.element->dtype).arithmetic;
    return emit(ref, std::move(op), bound.shape, DimNames(out_.program).add_all(bound.shape), into);
}

std::vector<Bound> ModuleLowering::all_in_memory(InstructionRef ref, const std::vector<Bound>& bounds, Block& into) {
    std::vector<Bound> all;
    for (const Bound& bound : bounds) all.push_back(in_memory(ref, bound, into, Numbers::stay));
    return all;
}

tl::unexpected<Error> ModuleLowering::fail_at(InstructionRef ref, std::string message, std::string hint) const {
    const XlaInstruction& each = at(ref);
    message = fmt::format("{} {}: {}", each.opcode, in_ticks(each.name), message);
    if (module_.binary) {
        return fail("bad_hlo", fmt::format("{}: byte {}: {}", source_.place({}).source, each.offset, message),
                    std::move(hint));
    }
    return source_.fail_at(source_.span(each.offset), "bad_hlo", std::move(message), std::move(hint));
}

Status ModuleLowering::want_operands(InstructionRef ref, std::size_t least) const {
    if (at(ref).operands.size() >= least) return {};
    return fail_at(ref, fmt::format("it needs {} operand{}", least, least == 1 ? "" : "s"));
}

void ModuleLowering::gap(InstructionRef ref, std::string what) { out_.gaps.push_back({ref, std::move(what)}); }

Result<ImportedProgram> lower_module(const XlaModule& module, const XlaModuleCost& costs, const std::string& name,
                                     const ImportOptions& options) {
    return ModuleLowering(module, costs, name, options).lower();
}

}  // namespace roofline::core
