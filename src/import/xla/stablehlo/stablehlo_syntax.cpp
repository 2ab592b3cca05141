#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "import/xla/stablehlo/stablehlo_reader.hpp"

namespace roofline::core {

namespace {

constexpr int deepest_region = 256;
constexpr std::size_t most_captured = 1'000'000;  // each costs an instruction, in all regions between
constexpr std::uint32_t most_results = 1U << 20U;

bool is_sdy(std::string_view name) { return name.starts_with("sdy."); }

bool begins_word(char c) { return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_'; }

}  // namespace

Status StablehloReader::read_body(StablehloRegion& region) {
    while (!scanner_.take("}")) {
        if (scanner_.ended()) {
            return scanner_.fail_at(region.offset, "bad_stablehlo", "this region has no end",
                                    "the file may be cut off: give the whole module");
        }
        if (scanner_.peek() == '^') {
            return scanner_.fail_here("blocks", "a second block begins here: jumps between blocks cannot be read",
                                      "export the function with `stablehlo.while`, `case` and `if`");
        }
        if (region.ended) return scanner_.fail_here("bad_stablehlo", "the region has returned before this line");
        ROOFLINE_CHECK(read_operation(region));
    }
    return {};
}

Status StablehloReader::read_operation(StablehloRegion& region) {
    // The lists of an operation are used again for the next one, which saves half of the allocations.
    if (open_ops_ == ops_.size()) ops_.emplace_back();
    StablehloOp& op = ops_[open_ops_++];
    op.clear();
    ROOFLINE_CHECK(read_operation_into(op, region));
    --open_ops_;
    return {};
}

Status StablehloReader::read_operation_into(StablehloOp& op, StablehloRegion& region) {
    op.offset = scanner_.at();
    ROOFLINE_CHECK(read_results(op));
    scanner_.skip_blanks();
    const std::size_t name_at = scanner_.at();
    if (op.results.empty()) op.offset = name_at;
    const bool generic = scanner_.peek() == '"';
    if (generic) {
        ROOFLINE_TRY(op.name, scanner_.take_string());
    } else {
        op.name = scanner_.take_word();
    }
    if (op.name.empty()) {
        return scanner_.fail_here("bad_stablehlo", "expected an operation, such as `%0 = stablehlo.add %a, %b : ...`");
    }
    if (op.name.starts_with("vhlo.")) {
        return scanner_.fail_at(name_at, "vhlo", "this module is written in VHLO, the form for storage",
                                "give StableHLO as text: `jax.jit(f).lower(...).as_text()`");
    }
    const auto known = opcodes_.try_emplace(op.name, nullptr);
    if (known.second) known.first->second = find_stablehlo_opcode(op.name);
    op.opcode = known.first->second;
    return generic ? read_generic(op, region) : read_pretty(op, region);
}

// `%0 =`, `%0:2 =`, `%values, %indices =`, or nothing.
Status StablehloReader::read_results(StablehloOp& op) {
    scanner_.skip_blanks();
    if (scanner_.peek() != '%') return {};
    do {
        ROOFLINE_TRY(const MlirName name, scanner_.take_name());
        if (op.results.empty()) op.offset = name.offset + 1;
        StablehloOp::Result result{name.base, 1};
        if (scanner_.take(":")) {
            const std::size_t at = scanner_.at();
            std::uint64_t count = 0;
            for (const char c : scanner_.take_word()) {
                count = is_digit(c) ? count * 10 + static_cast<std::uint64_t>(c - '0') : most_results + 1;
                if (count > most_results) break;
            }
            if (count == 0 || count > most_results) {
                return scanner_.fail_at(at, "bad_stablehlo", "expected how many results there are, such as `%0:2`");
            }
            result.count = static_cast<std::uint32_t>(count);
        }
        op.result_count += result.count;
        if (op.result_count > most_results) {
            return scanner_.fail_at(op.offset, "too_large", "an operation has more than a million results");
        }
        op.results.push_back(result);
    } while (scanner_.take(","));
    return scanner_.expect("=", "after the names of results");
}

Status StablehloReader::read_operand(StablehloOp& op, StablehloRegion& region) {
    ROOFLINE_TRY(const MlirName name, scanner_.take_name());
    const auto found = region.find(name);
    if (!found) {
        return scanner_.fail_at(name.offset, "undefined",
                                fmt::format("the value {} is not defined before this line", in_ticks(name.whole)));
    }
    if (shared_.captured > most_captured) {
        return scanner_.fail_at(name.offset, "too_large",
                                "the regions use more than a million values from outside, counted for each region");
    }
    if (init_next_) {
        inits_.push_back(*found);
    } else {
        op.operands.push_back(*found);
    }
    init_next_ = false;
    return {};
}

Status StablehloReader::read_properties(StablehloOp& op) {
    ROOFLINE_CHECK(scanner_.expect("<", "before properties"));
    ROOFLINE_CHECK(take_mlir_dictionary(scanner_, op.attributes));
    return scanner_.expect(">", "after properties");
}

// `"stablehlo.all_reduce"(%0) <{...}> ({...}) {...} : (...) -> ...`.
Status StablehloReader::read_generic(StablehloOp& op, StablehloRegion& region) {
    ROOFLINE_CHECK(scanner_.expect("(", "before the operands of an operation"));
    for (bool first = true; !scanner_.take(")"); first = false) {
        if (!first) ROOFLINE_CHECK(scanner_.expect(",", "between operands"));
        ROOFLINE_CHECK(read_operand(op, region));
    }
    scanner_.skip_blanks();
    if (scanner_.peek() == '[') {
        return scanner_.fail_here("blocks", "jumps between blocks cannot be read",
                                  "export the function with `stablehlo.while`, `case` and `if`");
    }
    if (scanner_.peek() == '<') ROOFLINE_CHECK(read_properties(op));
    scanner_.skip_blanks();
    if (scanner_.peek() == '(') return read_regions(op, region);
    if (scanner_.peek() == '{') ROOFLINE_CHECK(take_mlir_dictionary(scanner_, op.attributes));
    ROOFLINE_CHECK(scanner_.expect(":", "before the types of an operation"));
    ROOFLINE_CHECK(read_types(op));
    return finish(op, region);
}

// `%0 = stablehlo.op %a, %b, key = value {...} : types`, with what is particular to some operations.
Status StablehloReader::read_pretty(StablehloOp& op, StablehloRegion& region) {
    const StablehloKind kind = op.opcode == nullptr ? StablehloKind::plain : op.opcode->kind;
    if (kind == StablehloKind::loop) return read_while(op, region);
    if (kind == StablehloKind::manual || kind == StablehloKind::named) return read_manual(op, region);
    applies_ = {};
    inits_.clear();
    init_next_ = false;
    while (true) {
        const bool line_ended = scanner_.skip_blanks();
        const char c = scanner_.peek();
        if (c == ':') break;
        // Operations that return, and those of dialects that we do not know, may have no types.
        const bool may_end = op.opcode == nullptr || kind == StablehloKind::returns;
        if (may_end && (line_ended || c == '}' || scanner_.next_is("loc("))) return finish(op, region);
        ROOFLINE_TRY(const bool taken, read_pretty_piece(op, region));
        if (!taken) {
            return scanner_.fail_here("bad_stablehlo",
                                      fmt::format("expected `:` and the types of {}", in_ticks(op.name)),
                                      scanner_.ended() ? "the file may be cut off: give the whole module" : "");
        }
        if (scanner_.peek() == '(' && scanner_.next_is("({")) return read_regions(op, region);
    }
    scanner_.take(":");
    ROOFLINE_CHECK(read_types(op));
    op.operands.insert(op.operands.end(), inits_.begin(), inits_.end());
    if (kind == StablehloKind::reduce) return read_reducer(op, region);
    return finish(op, region);
}

Result<bool> StablehloReader::read_pretty_piece(StablehloOp& op, StablehloRegion& region) {
    const char c = scanner_.peek();
    if (c == '%') {
        ROOFLINE_CHECK(read_operand(op, region));
    } else if (c == '(' || c == ')' || c == ',') {
        scanner_.go_to(scanner_.at() + 1);
        return true;
    } else if (c == '@') {
        ROOFLINE_TRY(op.symbol, scanner_.take_symbol());
    } else if (c == '"') {
        ROOFLINE_TRY(op.string, scanner_.take_string());
    } else if (scanner_.next_is("<{")) {
        ROOFLINE_CHECK(read_properties(op));
    } else if (c == '{' && op.opcode != nullptr) {
        ROOFLINE_CHECK(take_mlir_dictionary(scanner_, op.attributes));
    } else if (c == '{' && !(is_sdy(op.name) && op.operands.empty())) {
        ROOFLINE_CHECK(read_braces(op));
    } else if (c == '{' || c == '[' || c == '<') {
        ROOFLINE_TRY(const auto group, scanner_.take_group());
        op.groups.push_back(group);
    } else if (scanner_.next_is("->")) {
        scanner_.take("->");
        ROOFLINE_TRY(auto type, types_.take(scanner_));
        op.types.push_back(std::move(type));
    } else if (begins_word(c)) {
        ROOFLINE_CHECK(read_pretty_word(op));
    } else if (is_digit(c) || c == '-' || c == '#' || c == '+') {
        ROOFLINE_TRY(const auto value, scanner_.take_plain_value());
        op.groups.push_back(value);
    } else {
        return false;
    }
    return true;
}

// Braces of an operation that we do not know: a dictionary, or anything else.
Status StablehloReader::read_braces(StablehloOp& op) {
    const std::size_t from = scanner_.at();
    const std::size_t count = op.attributes.size();
    if (take_mlir_dictionary(scanner_, op.attributes)) return {};
    op.attributes.resize(count);
    scanner_.go_to(from);
    ROOFLINE_TRY(const auto group, scanner_.take_group());
    op.groups.push_back(group);
    return {};
}

// `key = value`, `dense<...>`, `init:`, `applies stablehlo.add`, or a word alone.
Status StablehloReader::read_pretty_word(StablehloOp& op) {
    const std::size_t from = scanner_.at();
    const std::string_view word = scanner_.take_word();
    if (scanner_.peek() == '<') {
        scanner_.go_to(from);
        ROOFLINE_TRY(const auto value, scanner_.take_plain_value());
        op.groups.push_back(value);
        return {};
    }
    if (scanner_.take("=")) {
        ROOFLINE_TRY(const auto value, scanner_.take_plain_value());
        op.attributes.push_back({word, value});
        return {};
    }
    const bool reduce = op.opcode != nullptr && op.opcode->kind == StablehloKind::reduce;
    if (reduce && word == "init") {
        init_next_ = true;
        return scanner_.expect(":", "after `init`");
    }
    if (reduce && word == "applies") {
        applies_ = scanner_.take_word();
        return {};
    }
    if (!(reduce && word == "across")) op.words.push_back(word);
    return {};
}

// `(A, B) -> C`, `(A) -> (B, C)`, `A, B -> C`, or `A, B`, after the colon.
Status StablehloReader::read_types(StablehloOp& op) {
    op.types.clear();
    scanner_.skip_blanks();
    if (scanner_.peek() == '(') {
        const std::size_t from = scanner_.at();
        ROOFLINE_CHECK(scanner_.take_group());
        if (!scanner_.take("->")) {
            scanner_.go_to(from);
            return read_type_list(op.types);
        }
        return read_type_list(op.types);
    }
    ROOFLINE_CHECK(read_type_list(op.types));
    while (scanner_.take(",")) {
        ROOFLINE_TRY(auto type, types_.take(scanner_));
        op.types.push_back(std::move(type));
    }
    if (!scanner_.take("->")) return {};
    op.types.clear();
    return read_type_list(op.types);
}

// `(A, B)`, or only `A`.
Status StablehloReader::read_type_list(std::vector<XlaShape>& types) {
    const bool several = scanner_.take("(");
    if (several && scanner_.take(")")) return {};
    do {
        ROOFLINE_TRY(auto type, types_.take(scanner_));
        types.push_back(std::move(type));
    } while (several && scanner_.take(","));
    return several ? scanner_.expect(")", "after types") : Status{};
}

// Where only the types of operands and results together are written, the results are the last.
Status StablehloReader::check_types(StablehloOp& op) const {
    const std::size_t count = op.result_count;
    if (op.types.size() > count) {
        op.types.erase(op.types.begin(), op.types.end() - static_cast<std::ptrdiff_t>(count));
    }
    if (op.types.size() == count) return {};
    return scanner_.fail_at(op.offset, "bad_stablehlo",
                            fmt::format("{} results have {} types", count, op.types.size()));
}

Result<StablehloReader::Argument> StablehloReader::read_argument() {
    Argument argument;
    ROOFLINE_TRY(argument.name, scanner_.take_name());
    ROOFLINE_CHECK(scanner_.expect(":", "after the name of an argument"));
    ROOFLINE_TRY(argument.shape, types_.take(scanner_));
    scanner_.skip_blanks();
    if (scanner_.peek() == '{') ROOFLINE_CHECK(take_mlir_dictionary(scanner_, argument.attributes));
    ROOFLINE_CHECK(locations_.take(scanner_, argument.origin));
    return argument;
}

Status StablehloReader::add_arguments(StablehloRegion& region, const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) {
        const std::uint32_t index = region.add_argument(argument.name.base, argument.shape, argument.name.offset + 1);
        XlaInstruction& instruction = region.computation.instructions[index];
        instruction.origin = argument.origin;
        translate_discardable(argument.attributes, notation_, instruction.attributes);
        if (!region.define(argument.name.base, index)) {
            return scanner_.fail_at(argument.name.offset, "defined_twice",
                                    fmt::format("the value {} is defined twice", in_ticks(argument.name.base)));
        }
    }
    return {};
}

// `^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>):`, if it comes next.
Status StablehloReader::read_block_label(StablehloRegion& region) {
    if (!scanner_.take("^")) return {};
    scanner_.take_word();
    std::vector<Argument> arguments;
    if (scanner_.take("(")) {
        for (bool first = true; !scanner_.take(")"); first = false) {
            if (!first) ROOFLINE_CHECK(scanner_.expect(",", "between the arguments of a block"));
            ROOFLINE_TRY(auto argument, read_argument());
            arguments.push_back(std::move(argument));
        }
    }
    ROOFLINE_CHECK(scanner_.expect(":", "after the label of a block"));
    return add_arguments(region, arguments);
}

// `{ ... }`, with arguments that are written before it, or in the label of its block.
Status StablehloReader::read_region(StablehloRegion& region, const std::vector<Argument>& arguments) {
    scanner_.skip_blanks();
    region.offset = scanner_.at();
    if (depth_ >= deepest_region) return scanner_.fail_here("too_deep", "regions are nested deeper than 256 levels");
    ++depth_;
    ROOFLINE_CHECK(scanner_.expect("{", "before a region"));
    ROOFLINE_CHECK(add_arguments(region, arguments));
    ROOFLINE_CHECK(read_block_label(region));
    ROOFLINE_CHECK(read_body(region));
    --depth_;
    return {};
}

// `({...}, {...}) {attributes} : types`.
Status StablehloReader::read_regions(StablehloOp& op, StablehloRegion& region) {
    const StablehloKind kind = op.opcode == nullptr ? StablehloKind::plain : op.opcode->kind;
    const bool tuple = kind == StablehloKind::loop || kind == StablehloKind::branches;
    ROOFLINE_CHECK(scanner_.expect("(", "before regions"));
    std::vector<std::unique_ptr<StablehloRegion>> regions;
    do {
        regions.push_back(
            std::make_unique<StablehloRegion>(shared_, tuple ? Arguments::tuple : Arguments::apart, &region));
        ROOFLINE_CHECK(read_region(*regions.back(), {}));
    } while (scanner_.take(","));
    ROOFLINE_CHECK(scanner_.expect(")", "after regions"));
    scanner_.skip_blanks();
    if (scanner_.peek() == '{') ROOFLINE_CHECK(take_mlir_dictionary(scanner_, op.attributes));
    ROOFLINE_CHECK(scanner_.expect(":", "before the types of an operation"));
    ROOFLINE_CHECK(read_types(op));
    if (kind == StablehloKind::branches) return emit_branches(op, region, regions);
    if (kind == StablehloKind::loop) {
        if (regions.size() != 2) {
            return scanner_.fail_at(op.offset, "bad_stablehlo", "a while needs two regions: condition and body");
        }
        return emit_while(op, region, *regions[0], *regions[1]);
    }
    if (kind == StablehloKind::manual || kind == StablehloKind::named) return emit_manual(op, region, *regions[0]);
    for (const auto& inner : regions) {
        // An operation that we do not know may have empty regions.
        if (op.opcode == nullptr && inner->computation.instructions.empty()) continue;
        ROOFLINE_TRY(const std::uint32_t computation, close_region(op, *inner));
        op.called.push_back(computation);
    }
    return finish(op, region);
}

// `stablehlo.while(%iterArg = %0, ...) : types cond {...} do {...}`.
Status StablehloReader::read_while(StablehloOp& op, StablehloRegion& region) {
    ROOFLINE_CHECK(scanner_.expect("(", "before the operands of a while"));
    std::vector<Argument> arguments;
    for (bool first = true; !scanner_.take(")"); first = false) {
        if (!first) ROOFLINE_CHECK(scanner_.expect(",", "between the operands of a while"));
        ROOFLINE_TRY(auto name, scanner_.take_name());
        arguments.push_back({name, {}, {}, {}});
        ROOFLINE_CHECK(scanner_.expect("=", "after the name of a variable of a while"));
        ROOFLINE_CHECK(read_operand(op, region));
        arguments.back().shape = region.at(op.operands.back()).shape;
    }
    if (scanner_.take(":")) ROOFLINE_CHECK(read_types(op));
    if (scanner_.take_word("attributes")) ROOFLINE_CHECK(take_mlir_dictionary(scanner_, op.attributes));
    StablehloRegion condition(shared_, Arguments::tuple, &region);
    StablehloRegion body(shared_, Arguments::tuple, &region);
    ROOFLINE_CHECK(scanner_.expect("cond", "before the condition of a while"));
    ROOFLINE_CHECK(read_region(condition, arguments));
    ROOFLINE_CHECK(scanner_.expect("do", "before the body of a while"));
    ROOFLINE_CHECK(read_region(body, arguments));
    return emit_while(op, region, condition, body);
}

// `reducer(%a: t, %b: t) (%c: t, %d: t) {...}` after the types: the two arguments for each input; or `applies`.
Status StablehloReader::read_reducer(StablehloOp& op, StablehloRegion& region) {
    if (!applies_.empty()) {
        const StablehloOpcode* opcode = find_stablehlo_opcode(applies_);
        ROOFLINE_CHECK(check_types(op));
        if (opcode == nullptr || op.types.size() != 1 || op.types.front().element == nullptr) {
            return scanner_.fail_at(op.offset, "bad_stablehlo",
                                    fmt::format("{} cannot reduce this", in_ticks(applies_)));
        }
        op.called.push_back(applied(opcode->opcode, *op.types.front().element));
        return finish(op, region);
    }
    ROOFLINE_CHECK(scanner_.expect("reducer", "or `applies` in a reduce"));
    std::vector<Argument> left;
    std::vector<Argument> right;
    while (scanner_.take("(")) {
        ROOFLINE_TRY(auto first, read_argument());
        left.push_back(std::move(first));
        ROOFLINE_CHECK(scanner_.expect(",", "between the two arguments of a reducer"));
        ROOFLINE_TRY(auto second, read_argument());
        right.push_back(std::move(second));
        ROOFLINE_CHECK(scanner_.expect(")", "after the two arguments of a reducer"));
    }
    left.insert(left.end(), right.begin(), right.end());
    StablehloRegion reducer(shared_, Arguments::apart, &region);
    ROOFLINE_CHECK(read_region(reducer, left));
    ROOFLINE_TRY(const std::uint32_t computation, close_region(op, reducer));
    op.called.push_back(computation);
    return finish(op, region);
}

// `sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} (%arg1: t) {...} : types`, and
// `sdy.named_computation<"name">(%0) ...`.
Status StablehloReader::read_manual(StablehloOp& op, StablehloRegion& region) {
    if (scanner_.peek() == '<') {
        ROOFLINE_TRY(const auto name, scanner_.take_group());
        op.attributes.push_back({"name", name.substr(1, name.size() - 2)});
    }
    ROOFLINE_CHECK(scanner_.expect("(", "before the operands of a computation"));
    for (bool first = true; !scanner_.take(")"); first = false) {
        if (!first) ROOFLINE_CHECK(scanner_.expect(",", "between operands"));
        ROOFLINE_CHECK(read_operand(op, region));
    }
    scanner_.skip_blanks();
    while (begins_word(scanner_.peek())) {
        const std::string_view key = scanner_.take_word();
        ROOFLINE_CHECK(scanner_.expect("=", "after the name of an attribute"));
        ROOFLINE_TRY(const auto value, scanner_.take_plain_value());
        op.attributes.push_back({key, value});
        scanner_.skip_blanks();
    }
    std::vector<Argument> arguments;
    ROOFLINE_CHECK(scanner_.expect("(", "before the arguments of a computation"));
    for (bool first = true; !scanner_.take(")"); first = false) {
        if (!first) ROOFLINE_CHECK(scanner_.expect(",", "between arguments"));
        ROOFLINE_TRY(auto argument, read_argument());
        arguments.push_back(std::move(argument));
    }
    StablehloRegion body(shared_, Arguments::apart, &region);
    ROOFLINE_CHECK(read_region(body, arguments));
    scanner_.skip_blanks();
    if (scanner_.peek() == '{') ROOFLINE_CHECK(take_mlir_dictionary(scanner_, op.attributes));
    ROOFLINE_CHECK(scanner_.expect(":", "before the types of an operation"));
    ROOFLINE_CHECK(read_types(op));
    return emit_manual(op, region, body);
}

}  // namespace roofline::core
