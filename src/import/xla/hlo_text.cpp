#include "import/xla/hlo_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/hlo_frames.hpp"
#include "import/xla/hlo_names.hpp"
#include "import/xla/hlo_scanner.hpp"

namespace roofline::core {

namespace {

constexpr int deepest_computation = 32;
// `%a = s32[] add(b, c)` with its line end: an instruction has about as many bytes at least.
constexpr std::size_t least_bytes = 24;

/// An attribute that names computations which an instruction calls, and its place among them: a while has its condition
/// before its body however they are written.
struct CallingKey {
    std::string_view key;
    int place = 0;
};

constexpr CallingKey calling_keys[] = {
    {"to_apply", 0},
    {"calls", 0},
    {"condition", 0},
    {"body", 1},
    {"true_computation", 0},
    {"false_computation", 1},
    {"branch_computations", 0},
    {"select", 0},
    {"scatter", 1},
    {"comparator", 0},
    {"called_computations", 0},
    {"called_computation", 0},
};

std::optional<int> place_of_callee(std::string_view key) {
    for (const CallingKey& known : calling_keys) {
        if (known.key == key) return known.place;
    }
    return std::nullopt;
}

/// A computation as it is called: by name, whose place in the text stands in an error.
struct Call {
    std::uint32_t computation = 0;
    std::uint32_t instruction = 0;
    int place = 0;
    std::string_view callee;
    std::size_t order = 0;  ///< in the text
};

class HloReader {
public:
    HloReader(std::shared_ptr<const std::string> text, const std::string& name) : scanner_(*text, name) {
        module_.text = std::move(text);
        module_.spoken = std::make_shared<std::deque<std::string>>();
    }

    Result<XlaModule> read() {
        scanner_.skip_blanks();
        if (scanner_.take("HloModule")) ROOFLINE_CHECK(read_header());
        ROOFLINE_CHECK(frames_.read(scanner_));
        scanner_.skip_blanks();
        while (!scanner_.ended()) {
            if (scanner_.next_is("HloModule")) {
                return scanner_.fail_here("several_modules", "a second module begins here", "give one module per file");
            }
            ROOFLINE_CHECK(read_computation());
            scanner_.skip_blanks();
        }
        if (module_.computations.empty()) {
            return scanner_.fail_here("bad_hlo", "the module has no computation", "give the text of a whole module");
        }
        if (!has_entry_) module_.entry = last_;
        ROOFLINE_CHECK(resolve_calls());
        if (const auto cycle = put_callees_first(module_)) {
            return scanner_.fail_at(
                starts_[*cycle], "cycle",
                fmt::format("the computation {} calls itself", in_ticks(module_.computations[*cycle].name)));
        }
        return std::move(module_);
    }

private:
    Status read_header() {
        module_.name = std::string(scanner_.take_name());
        while (scanner_.take(",")) {
            ROOFLINE_TRY(const XlaAttribute attribute, take_attribute());
            module_.attributes.push_back(attribute);
        }
        return {};
    }

    Result<XlaAttribute> take_attribute() {
        const std::string_view key = scanner_.take_name();
        if (key.empty()) return scanner_.fail_here("bad_hlo", "the name of an attribute is missing after the comma");
        ROOFLINE_CHECK(scanner_.expect("=", "after the name of an attribute"));
        // The layout of the entry has an arrow inside: ((f32[2])->f32[2]).
        ROOFLINE_TRY(const auto value, scanner_.take_value());
        return XlaAttribute{key, value};
    }

    // `ENTRY %main (p: f32[2]) -> f32[2] {`, or only `main {`.
    Status read_computation() {
        const bool entry = take_word("ENTRY");
        const std::size_t from = scanner_.at();
        const std::string_view name = scanner_.take_name();
        if (name.empty()) {
            return scanner_.fail_here("bad_hlo", "expected a computation here, such as `ENTRY main {`",
                                      "give HLO text (compiled.as_text()) or StableHLO text (lowered.as_text())");
        }
        scanner_.skip_blanks();
        if (scanner_.peek() == '(') ROOFLINE_CHECK(scanner_.take_enclosed('('));
        if (scanner_.take("->")) {
            scanner_.skip_blanks();
            ROOFLINE_CHECK(scanner_.take_shape());
        }
        while (scanner_.take(",")) ROOFLINE_CHECK(take_attribute());
        ROOFLINE_CHECK(scanner_.expect("{", "before the instructions of a computation"));
        ROOFLINE_TRY(const std::uint32_t index, read_instructions(name, from, 0));
        if (entry) {
            if (has_entry_) return scanner_.fail_at(from, "defined_twice", "a second computation is marked ENTRY");
            has_entry_ = true;
            module_.entry = index;
        }
        last_ = index;
        while (scanner_.take(",")) ROOFLINE_CHECK(take_attribute());  // execution_thread
        return {};
    }

    bool take_word(std::string_view word) {
        scanner_.skip_blanks();
        const std::size_t from = scanner_.at();
        if (!scanner_.take(word)) return false;
        const char after = scanner_.peek();
        if (after == ' ' || after == '\t' || after == '\n') return true;
        scanner_.go_to(from);
        return false;
    }

    // The instructions up to the brace that closes the computation.
    Result<std::uint32_t> read_instructions(std::string_view name, std::size_t from, int depth) {
        if (depth > deepest_computation)
            return scanner_.fail_at(from, "too_deep", "computations are nested too deeply");
        XlaComputation computation;
        computation.name = name;
        computation.instructions.reserve(expected_instructions());
        HloNames names;
        std::uint32_t root = HloNames::none;
        std::vector<Call> own;
        while (!scanner_.take("}")) {
            if (scanner_.ended()) {
                return scanner_.fail_at(from, "bad_hlo", fmt::format("the computation {} has no end", in_ticks(name)),
                                        "the file may be cut off: give the whole module");
            }
            const auto index = static_cast<std::uint32_t>(computation.instructions.size());
            if (take_word("ROOT")) {
                if (root != HloNames::none)
                    return scanner_.fail_here("defined_twice", "a second instruction is marked ROOT");
                root = index;
            }
            XlaInstruction instruction;
            ROOFLINE_CHECK(read_instruction(instruction, index, computation, names, own, depth));
            if (names.find(computation.instructions, instruction.name) != HloNames::none) {
                return scanner_.fail_at(
                    instruction.offset, "defined_twice",
                    fmt::format("{} is defined twice in its computation", in_ticks(instruction.name)));
            }
            computation.instructions.push_back(std::move(instruction));
            names.add_last(computation.instructions);
        }
        if (computation.instructions.empty()) {
            return scanner_.fail_at(from, "bad_hlo",
                                    fmt::format("the computation {} has no instruction", in_ticks(name)));
        }
        const auto last = static_cast<std::uint32_t>(computation.instructions.size() - 1);
        computation.root = root == HloNames::none ? last : root;
        const auto index = static_cast<std::uint32_t>(module_.computations.size());
        for (Call& call : own) {
            call.computation = index;
            calls_.push_back(call);
        }
        if (depth == 0 && !computations_.emplace(name, index).second) {
            return scanner_.fail_at(from, "defined_twice",
                                    fmt::format("the computation {} is defined twice", in_ticks(name)));
        }
        module_.computations.push_back(std::move(computation));
        starts_.push_back(from);
        return index;
    }

    // The lines up to the next brace at the beginning of one, for the computation that begins here. Memory for a
    // million instructions that is got little by little is moved as often, and each time touched for the first time.
    std::size_t expected_instructions() {
        const std::size_t from = scanner_.at();
        if (from < expected_to_) return 0;  // a computation before this one got them all
        const std::string_view text = scanner_.text();
        expected_to_ = std::min(text.find("\n}", from), text.size());
        const auto lines = std::count(text.begin() + static_cast<std::ptrdiff_t>(from),
                                      text.begin() + static_cast<std::ptrdiff_t>(expected_to_), '\n');
        return std::min(static_cast<std::size_t>(lines), (expected_to_ - from) / least_bytes);
    }

    // `%name = f32[2] opcode(%a, %b), key=value`.
    Status read_instruction(XlaInstruction& instruction, std::uint32_t index, const XlaComputation& computation,
                            const HloNames& names, std::vector<Call>& own, int depth) {
        scanner_.skip_blanks();
        instruction.offset = scanner_.at();
        instruction.name = scanner_.take_name();
        if (instruction.name.empty()) {
            return scanner_.fail_here("bad_hlo", "expected an instruction, such as `x = f32[2] add(a, b)`");
        }
        ROOFLINE_CHECK(scanner_.expect("=", "after the name of an instruction"));
        scanner_.skip_blanks();
        const bool typed = scanner_.at_shape();
        if (typed) {
            ROOFLINE_TRY(instruction.shape, scanner_.take_shape());
        }
        const std::size_t at = scanner_.at();
        instruction.opcode = scanner_.take_name();
        if (instruction.opcode.empty()) return scanner_.fail_at(at, "bad_hlo", "the name of an operation is missing");
        scanner_.skip_blanks();
        const bool verbatim =
            instruction.opcode == "constant" || instruction.opcode == "parameter" || instruction.opcode == "iota";
        if (verbatim) {
            ROOFLINE_TRY(instruction.literal, scanner_.take_enclosed('('));
        } else {
            ROOFLINE_CHECK(read_operands(instruction, computation, names));
        }
        ROOFLINE_CHECK(read_attributes(instruction, index, own, depth));
        if (!typed) return infer_shape(instruction, computation, at);
        return {};
    }

    Status read_operands(XlaInstruction& instruction, const XlaComputation& computation, const HloNames& names) {
        ROOFLINE_CHECK(scanner_.expect("(", "before the operands of an operation"));
        operands_.clear();
        bool first = true;
        while (!scanner_.take(")")) {
            if (!first) ROOFLINE_CHECK(scanner_.expect(",", "between operands"));
            first = false;
            scanner_.skip_blanks();
            if (scanner_.at_shape()) ROOFLINE_CHECK(scanner_.take_shape());
            scanner_.skip_blanks();
            const std::size_t at = scanner_.at();
            const std::string_view name = scanner_.take_name();
            const std::uint32_t found = names.find(computation.instructions, name);
            if (found == HloNames::none) {
                return scanner_.fail_at(
                    at, "undefined",
                    name.empty() ? std::string("the name of an operand is missing")
                                 : fmt::format("the operand {} is not defined before this line", in_ticks(name)));
            }
            operands_.push_back(found);
        }
        instruction.operands.assign(operands_.begin(), operands_.end());
        return {};
    }

    Status read_attributes(XlaInstruction& instruction, std::uint32_t index, std::vector<Call>& own, int depth) {
        std::vector<XlaAttribute> attributes;  // this may read instructions inside this one
        attributes.swap(attributes_);
        attributes.clear();
        scanner_.skip_in_line();
        while (scanner_.peek() == ',') {
            scanner_.take(",");
            const std::string_view key = scanner_.take_name();
            if (key.empty())
                return scanner_.fail_here("bad_hlo", "the name of an attribute is missing after the comma");
            ROOFLINE_CHECK(scanner_.expect("=", "after the name of an attribute"));
            scanner_.skip_blanks();
            if (const auto place = place_of_callee(key)) {
                ROOFLINE_CHECK(read_callees(index, *place, own, depth));
            } else {
                ROOFLINE_TRY(const auto value, scanner_.take_value());
                if (key == "metadata") {
                    read_metadata(value, frames_, instruction.origin, *module_.spoken);
                } else {
                    attributes.push_back({key, value});
                }
            }
            scanner_.skip_in_line();
        }
        instruction.attributes.assign(attributes.begin(), attributes.end());
        attributes_.swap(attributes);
        return {};
    }

    // `%body`, `{%a, %b}`, or the computation itself in braces.
    Status read_callees(std::uint32_t index, int place, std::vector<Call>& own, int depth) {
        const std::size_t from = scanner_.at();
        if (scanner_.peek() != '{') {
            own.push_back({0, index, place, scanner_.take_name(), 0});
            if (own.back().callee.empty()) return scanner_.fail_here("bad_hlo", "the name of a computation is missing");
            return {};
        }
        scanner_.take("{");
        bool inside = false;
        while (!scanner_.take("}")) {
            scanner_.take(",");
            const std::size_t name_at = scanner_.at();
            const std::string_view name = scanner_.take_name();
            scanner_.skip_blanks();
            if (name.empty()) return scanner_.fail_here("bad_hlo", "the name of a computation is missing");
            if (!inside && scanner_.peek() != ',' && scanner_.peek() != '}') {
                // An instruction begins here: `calls={ROOT r = ...}`.
                scanner_.go_to(name_at);
                const std::string name_of_it = fmt::format("computation.{}", module_.computations.size());
                const std::string_view kept = module_.spoken->emplace_back(name_of_it);
                ROOFLINE_TRY(const std::uint32_t nested, read_instructions(kept, from, depth + 1));
                nested_.emplace(kept, nested);
                own.push_back({0, index, place, kept, 0});
                return {};
            }
            inside = true;
            own.push_back({0, index, place, name, 0});
        }
        return {};
    }

    // Only a tuple may be written without its shape.
    Status infer_shape(XlaInstruction& instruction, const XlaComputation& computation, std::size_t at) {
        if (instruction.opcode != "tuple") {
            return scanner_.fail_at(at, "bad_hlo",
                                    fmt::format("the shape of {} is missing", in_ticks(instruction.name)),
                                    "write `name = f32[2] opcode(...)`");
        }
        for (const std::uint32_t operand : instruction.operands) {
            instruction.shape.parts.push_back(computation.instructions[operand].shape);
        }
        if (countable(instruction.shape)) return {};
        return scanner_.fail_at(at, "too_large", "this tuple has more bits than 63 bits can count");
    }

    Status resolve_calls() {
        for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i].order = i;
        std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
            return std::tie(a.computation, a.instruction, a.place, a.order) <
                   std::tie(b.computation, b.instruction, b.place, b.order);
        });
        for (const Call& call : calls_) {
            XlaInstruction& caller = module_.computations[call.computation].instructions[call.instruction];
            const auto own = nested_.find(call.callee);
            const auto found =
                own != nested_.end() && own->first.data() == call.callee.data() ? own : computations_.find(call.callee);
            if (found == computations_.end()) {
                return scanner_.fail_at(caller.offset, "undefined",
                                        fmt::format("{} calls the computation {}, which the module lacks",
                                                    in_ticks(caller.name), in_ticks(call.callee)));
            }
            caller.called.push_back(found->second);
        }
        return {};
    }

    HloScanner scanner_;
    XlaModule module_;
    HloFrames frames_;
    using Names = std::unordered_map<std::string_view, std::uint32_t>;
    Names computations_;
    Names nested_;  ///< those written in braces where they are called
    std::vector<Call> calls_;
    std::vector<std::size_t> starts_;
    std::vector<std::uint32_t> operands_;   ///< of an instruction that is being read
    std::vector<XlaAttribute> attributes_;  ///< likewise
    std::size_t expected_to_ = 0;           ///< up to where in the text memory for instructions is there
    bool has_entry_ = false;
    std::uint32_t last_ = 0;
};

}  // namespace

Result<XlaModule> read_hlo_text(std::string text, const std::string& name) {
    auto kept = std::make_shared<const std::string>(std::move(text));
    return HloReader(std::move(kept), name).read();
}

}  // namespace roofline::core
