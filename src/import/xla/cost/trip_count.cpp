#include "import/xla/cost/trip_count.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "import/xla/cost/xla_backend_config.hpp"

namespace roofline::core {

namespace {

// A loop's scalars are a few steps away from its state; whatever is further is no counter.
constexpr int most_steps = 2000;
constexpr int deepest_step = 100;

std::optional<std::int64_t> sum_of(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
    return sum;
}

std::optional<std::int64_t> difference_of(std::int64_t a, std::int64_t b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
    return difference;
}

/// An element of the loop's state plus a constant; without an element it is the constant alone.
struct Scalar {
    std::optional<std::int64_t> element;
    std::int64_t plus = 0;
};

/// A value of a computation, and how that computation was entered: its parameters are operands of `entered`, which
/// stands in `outer`. The outermost computation has no such caller.
struct Frame {
    const XlaComputation* computation = nullptr;
    const XlaInstruction* entered = nullptr;
    const Frame* outer = nullptr;
};

struct LoopCondition {
    std::string_view direction;
    Scalar left;
    Scalar right;
};

bool is_single(const XlaShape& shape) { return shape.is_array() && shape.elements() == 1; }

// What hands its operand on unchanged.
bool forwards(std::string_view opcode) {
    return opcode == "copy" || opcode == "convert" || opcode == "bitcast" || opcode == "reshape" ||
           opcode == "optimization-barrier" || opcode == "copy-done" || opcode == "broadcast" || opcode == "transpose";
}

class LoopReader {
public:
    explicit LoopReader(const XlaModule& module) : module_(module) {}

    /// The scalar that an instruction gives, or that element of the tuple which it gives.
    std::optional<Scalar> scalar(const Frame& frame, const XlaInstruction& at, std::optional<std::int64_t> part,
                                 int depth) {
        if (depth > deepest_step || ++steps_ > most_steps) return std::nullopt;
        if (at.opcode == "parameter") return parameter(frame, at, part, depth);
        if (at.opcode == "get-tuple-element") {
            if (part || at.operands.empty()) return std::nullopt;
            const auto index = at.number("index");
            return index ? scalar(frame, operand(frame, at, 0), index, depth + 1) : std::nullopt;
        }
        if (at.opcode == "tuple") {
            if (!part || *part < 0 || static_cast<std::size_t>(*part) >= at.operands.size()) return std::nullopt;
            return scalar(frame, operand(frame, at, static_cast<std::size_t>(*part)), std::nullopt, depth + 1);
        }
        if (forwards(at.opcode) && at.operands.size() == 1) {
            if (!part && (!is_single(at.shape) || !is_single(operand(frame, at, 0).shape))) return std::nullopt;
            return scalar(frame, operand(frame, at, 0), part, depth + 1);
        }
        if ((at.opcode == "fusion" || at.opcode == "call") && at.called.size() == 1) {
            const XlaComputation& callee = module_.computations[at.called[0]];
            const Frame inner{&callee, &at, &frame};
            return scalar(inner, callee.result(), part, depth + 1);
        }
        if (part || !is_single(at.shape) || at.shape.element->kind != XlaElement::Kind::whole) return std::nullopt;
        if (at.opcode == "constant") return constant(at);
        if (at.opcode == "add" || at.opcode == "subtract") return combination(frame, at, depth);
        return std::nullopt;
    }

    /// The comparison that a condition gives.
    std::optional<LoopCondition> comparison(const Frame& frame, const XlaInstruction& at, int depth) {
        if (depth > deepest_step) return std::nullopt;
        if (at.opcode == "compare" && at.operands.size() == 2) {
            const auto left = scalar(frame, operand(frame, at, 0), std::nullopt, 0);
            const auto right = scalar(frame, operand(frame, at, 1), std::nullopt, 0);
            const auto direction = at.attribute("direction");
            if (!left || !right || !direction) return std::nullopt;
            return LoopCondition{trimmed(*direction), *left, *right};
        }
        if ((at.opcode == "copy" || at.opcode == "bitcast") && at.operands.size() == 1) {
            return comparison(frame, operand(frame, at, 0), depth + 1);
        }
        if ((at.opcode == "fusion" || at.opcode == "call") && at.called.size() == 1) {
            const XlaComputation& callee = module_.computations[at.called[0]];
            const Frame inner{&callee, &at, &frame};
            return comparison(inner, callee.result(), depth + 1);
        }
        return std::nullopt;
    }

private:
    static const XlaInstruction& operand(const Frame& frame, const XlaInstruction& at, std::size_t index) {
        return frame.computation->instructions[at.operands[index]];
    }

    // A parameter of a fusion or call is its operand; one of the outermost computation is the loop's state.
    std::optional<Scalar> parameter(const Frame& frame, const XlaInstruction& at, std::optional<std::int64_t> part,
                                    int depth) {
        const std::string_view text = trimmed(at.literal);
        std::size_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
        if (frame.entered != nullptr) {
            if (number >= frame.entered->operands.size()) return std::nullopt;
            return scalar(*frame.outer, operand(*frame.outer, *frame.entered, number), part, depth + 1);
        }
        if (number != 0) return std::nullopt;
        return Scalar{part.value_or(-1), 0};  // state that is no tuple has the element -1
    }

    static std::optional<Scalar> constant(const XlaInstruction& at) {
        std::string_view text = trimmed(at.literal);
        while (text.size() >= 2 && text.front() == '{' && text.back() == '}') {
            text = trimmed(text.substr(1, text.size() - 2));
        }
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
        return Scalar{std::nullopt, value};
    }

    std::optional<Scalar> combination(const Frame& frame, const XlaInstruction& at, int depth) {
        if (at.operands.size() != 2) return std::nullopt;
        const auto left = scalar(frame, operand(frame, at, 0), std::nullopt, depth + 1);
        const auto right = scalar(frame, operand(frame, at, 1), std::nullopt, depth + 1);
        if (!left || !right || (left->element && right->element)) return std::nullopt;
        if (at.opcode == "subtract" && right->element) return std::nullopt;
        const auto plus = at.opcode == "add" ? sum_of(left->plus, right->plus) : difference_of(left->plus, right->plus);
        if (!plus) return std::nullopt;
        return Scalar{left->element ? left->element : right->element, *plus};
    }

    const XlaModule& module_;
    int steps_ = 0;
};

// Iterations of `for (i = 0; i < distance; i += step)`, with the end included or not.
std::optional<std::int64_t> iterations(std::optional<std::int64_t> distance, std::int64_t step, bool included) {
    if (!distance) return std::nullopt;
    if (*distance < 0 || (*distance == 0 && !included)) return 0;
    return sum_of((included ? *distance : *distance - 1) / step, 1);
}

std::string_view mirrored(std::string_view direction) {
    if (direction == "LT") return "GT";
    if (direction == "LE") return "GE";
    if (direction == "GT") return "LT";
    if (direction == "GE") return "LE";
    return direction;
}

std::optional<std::int64_t> count_to(std::string_view direction, std::int64_t first, std::int64_t bound,
                                     std::int64_t step) {
    const bool below = direction == "LT" || direction == "LE";
    const bool included = direction == "LE" || direction == "GE";
    if (below || direction == "GT" || direction == "GE") {
        const auto distance = below ? difference_of(bound, first) : difference_of(first, bound);
        if (distance && (*distance < 0 || (*distance == 0 && !included))) return 0;
        if (step == 0 || (step > 0) != below) return std::nullopt;
        const auto size = below ? std::optional(step) : difference_of(0, step);
        return size ? iterations(distance, *size, included) : std::nullopt;
    }
    if (direction == "EQ") {
        if (first != bound) return 0;
        return step == 0 ? std::nullopt : std::optional<std::int64_t>(1);
    }
    if (direction != "NE") return std::nullopt;
    if (first == bound) return 0;
    const auto distance = difference_of(bound, first);
    // The quotient of the smallest number and -1 does not exist.
    if (!distance || step == 0 || (step == -1 && !difference_of(0, *distance))) return std::nullopt;
    if (*distance % step != 0 || *distance / step < 0) return std::nullopt;
    return *distance / step;
}

std::optional<std::int64_t> written_trip_count(const XlaInstruction& a_while) {
    if (!a_while.attribute("backend_config")) return std::nullopt;
    const std::string config = plain_config(a_while);
    const auto known = value_of_key(config, "known_trip_count");
    if (!known) return std::nullopt;
    std::string text(value_of_key(*known, "n").value_or(""));
    std::erase(text, '"');
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || end != text.data() + text.size() || count < 0) return std::nullopt;
    return count;
}

}  // namespace

std::optional<std::int64_t> trip_count(const XlaModule& module, const XlaInstruction& a_while,
                                       const XlaComputation& caller) {
    if (const auto written = written_trip_count(a_while)) return written;
    if (a_while.called.size() != 2 || a_while.operands.size() != 1) return std::nullopt;
    const XlaComputation& condition = module.computations[a_while.called[0]];
    const XlaComputation& body = module.computations[a_while.called[1]];
    const Frame in_condition{&condition, nullptr, nullptr};
    const Frame in_body{&body, nullptr, nullptr};
    const Frame in_caller{&caller, nullptr, nullptr};
    LoopReader reader(module);
    auto compared = reader.comparison(in_condition, condition.result(), 0);
    if (!compared) return std::nullopt;

    const auto part_of = [](std::int64_t element) {
        return element < 0 ? std::nullopt : std::optional<std::int64_t>(element);
    };
    const auto next = [&](std::int64_t element) { return reader.scalar(in_body, body.result(), part_of(element), 0); };
    const auto first = [&](std::int64_t element) -> std::optional<std::int64_t> {
        const auto value = reader.scalar(in_caller, caller.instructions[a_while.operands[0]], part_of(element), 0);
        return value && !value->element ? std::optional(value->plus) : std::nullopt;
    };
    // State that the body hands on is its initial value.
    const auto settle = [&](Scalar& side) {
        if (!side.element) return;
        const auto after = next(*side.element);
        if (!after || after->element != side.element || after->plus != 0) return;
        const auto value = first(*side.element);
        const auto sum = value ? sum_of(*value, side.plus) : std::nullopt;
        if (sum) side = {std::nullopt, *sum};
    };
    settle(compared->left);
    settle(compared->right);
    if (compared->right.element) {
        std::swap(compared->left, compared->right);
        compared->direction = mirrored(compared->direction);
    }
    if (compared->right.element) return std::nullopt;
    if (!compared->left.element) return count_to(compared->direction, compared->left.plus, compared->right.plus, 0);
    const auto after = next(*compared->left.element);
    if (!after || after->element != compared->left.element) return std::nullopt;
    const auto start = first(*compared->left.element);
    const auto begin = start ? sum_of(*start, compared->left.plus) : std::nullopt;
    if (!begin) return std::nullopt;
    return count_to(compared->direction, *begin, compared->right.plus, after->plus);
}

}  // namespace roofline::core
