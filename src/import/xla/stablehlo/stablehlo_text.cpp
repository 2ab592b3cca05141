#include "import/xla/stablehlo/stablehlo_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/stablehlo/stablehlo_reader.hpp"

namespace roofline::core {

namespace {

// The dictionaries of `[{}, {jax.result_info = "result"}]`.
std::vector<std::vector<XlaAttribute>> dictionaries_of(std::string_view list) {
    std::vector<std::vector<XlaAttribute>> dictionaries;
    MlirScanner scanner(list, {});
    if (!scanner.take("[")) return dictionaries;
    do {
        std::vector<XlaAttribute> entries;
        if (!take_mlir_dictionary(scanner, entries)) break;
        dictionaries.push_back(std::move(entries));
    } while (scanner.take(","));
    return dictionaries;
}

std::string_view value_in(const std::vector<XlaAttribute>& entries, std::string_view key) {
    const auto found =
        std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.key == key; });
    return found == entries.end() ? std::string_view{} : found->value;
}

}  // namespace

StablehloReader::StablehloReader(std::shared_ptr<const std::string> text, const std::string& name)
    : scanner_(*text, name), notation_([this]() -> std::deque<std::string>& {
          module_.spoken = std::make_shared<std::deque<std::string>>();
          return *module_.spoken;
      }()) {
    module_.text = std::move(text);
}

Result<XlaModule> StablehloReader::read() {
    ROOFLINE_CHECK(refuse_other_forms());
    ROOFLINE_CHECK(locations_.find_aliases(scanner_));
    ROOFLINE_CHECK(read_top(false));
    if (functions_.empty()) {
        return scanner_.fail_here("bad_stablehlo", "the module has no function",
                                  "give the text of a whole module: `jax.jit(f).lower(...).as_text()`");
    }
    if (!meshes_.empty()) {
        module_.attributes.push_back(
            {"frontend_attributes", notation_.keep(fmt::format("{{xla.sdy.meshes={{{}}}}}", meshes_))});
    }
    ROOFLINE_CHECK(choose_entry());
    ROOFLINE_CHECK(resolve());
    add_aliases_of_buffers();
    return std::move(module_);
}

Status StablehloReader::refuse_other_forms() const {
    const std::string_view text = scanner_.text();
    if (text.starts_with("ML\xefR")) {
        return fail("mlir_bytecode", "this is MLIR bytecode, not text",
                    "ask for text: `jax.jit(f).lower(...).as_text()`; of an export, `exported.mlir_module()`");
    }
    MlirScanner start = scanner_;
    if (start.take_word("HloModule")) {
        return start.fail_at(0, "bad_stablehlo", "this is HLO text, not StableHLO", "read it as `.hlo`");
    }
    return {};
}

Status StablehloReader::read_top(bool inside) {
    bool ends = false;
    while (!ends) ROOFLINE_CHECK(read_top_operation(inside, ends));
    return {};
}

Status StablehloReader::read_top_operation(bool inside, bool& ends) {
    scanner_.skip_blanks();
    if (scanner_.ended()) {
        ends = true;
        if (!inside) return {};
        return scanner_.fail_here("bad_stablehlo", "the module has no end",
                                  "the file may be cut off: give the whole module");
    }
    if (inside && scanner_.take("}")) {
        ends = true;
        return {};
    }
    const char c = scanner_.peek();
    // An alias (those of locations have been read), or a line with which a tool marks the end of its print-out.
    if (c == '#' || c == '!' || scanner_.next_is("---")) {
        scanner_.go_to(std::min(scanner_.text().find('\n', scanner_.at()), scanner_.text().size()));
        return {};
    }
    if (scanner_.next_is("{-#")) {  // resources of the file
        scanner_.go_to(std::min(scanner_.text().find("#-}", scanner_.at()), scanner_.text().size() - 3) + 3);
        return {};
    }
    if (scanner_.take_word("module") || scanner_.take_word("builtin.module")) return read_module();
    if (scanner_.take_word("func.func") || scanner_.take_word("func")) return read_function();
    if (scanner_.take_word("sdy.mesh")) return read_mesh();
    const std::size_t from = scanner_.at();
    if (c == '"') {
        ROOFLINE_TRY(const auto name, scanner_.take_string());
        if (name == "builtin.module" || name == "func.func" || name == "sdy.mesh") return read_generic_top(name);
        scanner_.go_to(from);
    }
    // Anything else is kept by name.
    StablehloRegion scratch(shared_, Arguments::apart, nullptr);
    ROOFLINE_CHECK(read_operation(scratch));
    for (const XlaInstruction& instruction : scratch.computation.instructions) {
        module_.attributes.push_back({instruction.opcode, {}});
    }
    return {};
}

// `module @name attributes {...} { ... } loc(...)`, after the first word.
Status StablehloReader::read_module() {
    if (has_module_) {
        return scanner_.fail_here("several_modules", "a second module begins here", "give one module per file");
    }
    has_module_ = true;
    scanner_.skip_blanks();
    if (scanner_.peek() == '@') {
        ROOFLINE_TRY(const auto name, scanner_.take_symbol());
        module_.name = std::string(name);
    }
    if (scanner_.take_word("attributes")) {
        Dictionary attributes;
        ROOFLINE_CHECK(take_mlir_dictionary(scanner_, attributes));
        add_module_attributes(attributes);
    }
    ROOFLINE_CHECK(scanner_.expect("{", "before the functions of a module"));
    ROOFLINE_CHECK(read_top(true));
    XlaOrigin origin;
    return locations_.take(scanner_, origin);
}

void StablehloReader::add_module_attributes(const Dictionary& attributes) {
    for (const XlaAttribute& attribute : attributes) {
        if (attribute.key == "sym_name") {
            module_.name = std::string(mlir_string(attribute.value));
        } else if (attribute.key == "mhlo.num_partitions") {
            module_.attributes.push_back({"num_partitions", without_mlir_type(attribute.value)});
        } else if (attribute.key == "mhlo.num_replicas") {
            module_.attributes.push_back({"replica_count", without_mlir_type(attribute.value)});
        } else {
            module_.attributes.push_back(attribute);
        }
    }
}

// `sdy.mesh @mesh = <["x"=4, "y"=2]> {...}`, after the first word.
Status StablehloReader::read_mesh() {
    ROOFLINE_TRY(const auto name, scanner_.take_symbol());
    ROOFLINE_CHECK(scanner_.expect("=", "after the name of a mesh"));
    scanner_.skip_blanks();
    ROOFLINE_TRY(const auto mesh, scanner_.take_group());
    meshes_ += fmt::format("{}{} = #sdy.mesh{}", meshes_.empty() ? "" : ",", name, mesh);
    scanner_.skip_blanks();
    Dictionary others;
    if (scanner_.peek() == '{') ROOFLINE_CHECK(take_mlir_dictionary(scanner_, others));
    XlaOrigin origin;
    return locations_.take(scanner_, origin);
}

// `"func.func"() <{...}> ({...}) {...} : () -> ()` and its like, after the name.
Status StablehloReader::read_generic_top(std::string_view name) {
    StablehloOp op;
    op.offset = scanner_.at();
    ROOFLINE_CHECK(scanner_.expect("(", "after the name of an operation"));
    ROOFLINE_CHECK(scanner_.expect(")", "here: this operation has no operands"));
    scanner_.skip_blanks();
    if (scanner_.peek() == '<') ROOFLINE_CHECK(read_properties(op));
    StablehloRegion region(shared_, Arguments::apart, nullptr);
    if (scanner_.take("(")) {
        if (name == "builtin.module") {
            if (has_module_) {
                return scanner_.fail_here("several_modules", "a second module begins here", "give one module per file");
            }
            has_module_ = true;
            ROOFLINE_CHECK(scanner_.expect("{", "before the functions of a module"));
            if (scanner_.take("^")) {
                scanner_.take_word();
                ROOFLINE_CHECK(scanner_.expect(":", "after the label of a block"));
            }
            ROOFLINE_CHECK(read_top(true));
        } else {
            ROOFLINE_CHECK(scanner_.expect("{", "before a region"));
            region.offset = scanner_.at();
            ROOFLINE_CHECK(read_block_label(region));
            ROOFLINE_CHECK(read_body(region));
        }
        ROOFLINE_CHECK(scanner_.expect(")", "after a region"));
    }
    scanner_.skip_blanks();
    if (scanner_.peek() == '{') ROOFLINE_CHECK(take_mlir_dictionary(scanner_, op.attributes));
    ROOFLINE_CHECK(scanner_.expect(":", "before the types of an operation"));
    ROOFLINE_CHECK(read_types(op));
    ROOFLINE_CHECK(locations_.take(scanner_, op.origin));
    if (name == "builtin.module") {
        add_module_attributes(op.attributes);
        return {};
    }
    const std::string_view symbol = mlir_string(op.attribute("sym_name"));
    if (name == "sdy.mesh") {
        meshes_ += fmt::format("{}{} = {}", meshes_.empty() ? "" : ",", symbol, op.attribute("mesh"));
        return {};
    }
    Signature signature;
    signature.name = symbol;
    signature.offset = op.offset;
    signature.is_public = op.attribute("sym_visibility") != "\"private\"";
    signature.arguments = dictionaries_of(op.attribute("arg_attrs"));
    signature.results = dictionaries_of(op.attribute("res_attrs"));
    for (std::size_t i = 0; i < std::min(signature.arguments.size(), region.arguments()); ++i) {
        translate_discardable(signature.arguments[i], notation_,
                              region.computation.instructions[region.argument(i)].attributes);
    }
    return add_function(signature, region);
}

// `func.func public @main(%arg0: ...) -> (...) attributes {...} {...}`, after the first word.
Status StablehloReader::read_function() {
    Signature signature;
    std::vector<Argument> arguments;
    ROOFLINE_CHECK(read_signature(signature, arguments));
    StablehloRegion region(shared_, Arguments::apart, nullptr);
    if (scanner_.take_word("attributes")) {
        Dictionary others;
        ROOFLINE_CHECK(take_mlir_dictionary(scanner_, others));
    }
    scanner_.skip_blanks();
    if (scanner_.peek() == '{') {
        ROOFLINE_CHECK(read_region(region, arguments));
    }
    XlaOrigin origin;
    ROOFLINE_CHECK(locations_.take(scanner_, origin));
    for (const Argument& argument : arguments) signature.arguments.push_back(argument.attributes);
    return add_function(signature, region);
}

Status StablehloReader::read_signature(Signature& signature, std::vector<Argument>& arguments) {
    signature.is_public = !scanner_.take_word("private");
    if (signature.is_public && !scanner_.take_word("public")) scanner_.take_word("nested");
    scanner_.skip_blanks();
    signature.offset = scanner_.at();
    ROOFLINE_TRY(signature.name, scanner_.take_symbol());
    ROOFLINE_CHECK(scanner_.expect("(", "before the arguments of a function"));
    for (bool first = true; !scanner_.take(")"); first = false) {
        if (!first) ROOFLINE_CHECK(scanner_.expect(",", "between the arguments of a function"));
        scanner_.skip_blanks();
        if (scanner_.peek() != '%') {  // a function without a body names types only
            ROOFLINE_CHECK(types_.take(scanner_));
            scanner_.skip_blanks();
            Dictionary others;
            if (scanner_.peek() == '{') ROOFLINE_CHECK(take_mlir_dictionary(scanner_, others));
            continue;
        }
        ROOFLINE_TRY(auto argument, read_argument());
        arguments.push_back(std::move(argument));
    }
    return scanner_.take("->") ? read_result_types(signature) : Status{};
}

Status StablehloReader::read_result_types(Signature& signature) {
    const bool several = scanner_.take("(");
    if (several && scanner_.take(")")) return {};
    do {
        ROOFLINE_CHECK(types_.take(scanner_));
        Dictionary attributes;
        scanner_.skip_blanks();
        if (several && scanner_.peek() == '{') ROOFLINE_CHECK(take_mlir_dictionary(scanner_, attributes));
        signature.results.push_back(std::move(attributes));
        XlaOrigin origin;
        if (several) ROOFLINE_CHECK(locations_.take(scanner_, origin));
    } while (several && scanner_.take(","));
    return several ? scanner_.expect(")", "after the types of results") : Status{};
}

Status StablehloReader::declare(const Signature& signature, Function function) {
    function.offset = signature.offset;
    if (!functions_.emplace(signature.name, function).second) {
        return scanner_.fail_at(signature.offset, "defined_twice",
                                fmt::format("the function {} is defined twice", in_ticks(signature.name)));
    }
    if (!function.has_body) return {};
    order_.push_back(signature.name);
    if (signature.is_public && first_public_.empty()) first_public_ = signature.name;
    return {};
}

Status StablehloReader::add_function(const Signature& signature, StablehloRegion& region) {
    const bool has_body = region.ended || !region.computation.instructions.empty();
    if (!has_body) return declare(signature, {});
    if (!region.ended) {
        return scanner_.fail_at(signature.offset, "bad_stablehlo",
                                fmt::format("the function {} returns nothing", in_ticks(signature.name)));
    }
    region.offset = signature.offset;
    const std::size_t count = std::min(signature.results.size(), region.returned.size());
    for (std::size_t result = 0; result < count; ++result) {
        Dictionary shardings;
        for (const XlaAttribute& attribute : signature.results[result]) {
            if (attribute.key == "mhlo.sharding") shardings.push_back(attribute);
            if (attribute.key != "sdy.sharding") continue;
            shardings.push_back({attribute.key, notation_.keep(sharding_of_value(attribute.value))});
        }
        if (shardings.empty()) continue;
        const std::uint32_t value = region.returned[result];
        XlaInstruction sharded;
        sharded.name = notation_.keep(fmt::format("result{}#", result));
        sharded.opcode = "custom-call";
        sharded.shape = region.at(value).shape;
        sharded.operands = {value};
        sharded.offset = signature.offset;
        sharded.attributes.push_back({"custom_call_target", "\"xla.sdy.FuncResultSharding\""});
        translate_discardable(shardings, notation_, sharded.attributes);
        region.returned[result] = region.add(std::move(sharded));
    }
    region.set_results(region.returned, false);
    return declare(signature, {add_computation(region, signature.name), signature.offset, true});
}

Status StablehloReader::choose_entry() {
    const auto main = functions_.find("main");
    if (main != functions_.end() && main->second.has_body) {
        module_.entry = main->second.computation;
        return {};
    }
    if (order_.empty()) {
        return scanner_.fail_here("bad_stablehlo", "no function of the module has a body",
                                  "give the text of a whole module");
    }
    module_.entry = functions_.at(first_public_.empty() ? order_.front() : first_public_).computation;
    return {};
}

Status StablehloReader::resolve() {
    for (const Call& call : calls_) {
        const auto found = functions_.find(call.callee);
        if (found == functions_.end() || !found->second.has_body) {
            return scanner_.fail_at(call.offset, "undefined",
                                    fmt::format("this calls the function {}, which {}", in_ticks(call.callee),
                                                found == functions_.end() ? "the module lacks" : "has no body"));
        }
        module_.computations[call.computation].instructions[call.instruction].called.push_back(
            found->second.computation);
    }
    const auto cycle = put_callees_first(module_);
    if (!cycle) return {};
    return scanner_.fail_at(starts_[*cycle], "cycle",
                            fmt::format("the function {} calls itself", in_ticks(module_.computations[*cycle].name)));
}

// `tf.aliasing_output = 0` on an argument of the entry is the module's input_output_alias in HLO.
void StablehloReader::add_aliases_of_buffers() {
    std::string list;
    const XlaComputation& entry = module_.main();
    for (const XlaInstruction& instruction : entry.instructions) {
        if (instruction.opcode != "parameter") continue;
        const std::string_view output = without_mlir_type(value_in(instruction.attributes, "tf.aliasing_output"));
        if (output.empty()) continue;
        list += fmt::format("{} {{{}}}: ({}, {{}}, may-alias)", list.empty() ? "" : ",",
                            entry.result().shape.is_tuple() ? output : "", instruction.literal);
    }
    if (!list.empty()) {
        module_.attributes.push_back({"input_output_alias", notation_.keep(fmt::format("{{{} }}", list))});
    }
}

Result<XlaModule> read_stablehlo_text(std::string text, const std::string& name) {
    return StablehloReader(std::make_shared<const std::string>(std::move(text)), name).read();
}

}  // namespace roofline::core
