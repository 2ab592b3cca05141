#include "import/xla/fx/fx_builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace roofline::core {

namespace {

// Of these the result is true or false, whatever the operands are.
bool is_logical(std::string_view opcode) { return opcode == "compare" || opcode == "is-finite"; }

std::size_t operands_of(std::string_view opcode) {
    constexpr std::string_view one[] = {
        "abs",   "cbrt",      "ceil", "convert",      "cosine",   "erf",    "exponential", "exponential-minus-one",
        "floor", "is-finite", "log",  "log-plus-one", "logistic", "negate", "not",         "round-nearest-even",
        "rsqrt", "sign",      "sine", "sqrt",         "tan",      "tanh"};
    if (opcode == "select" || opcode == "clamp") return 3;
    return std::find(std::begin(one), std::end(one), opcode) != std::end(one) ? 1 : 2;
}

}  // namespace

FxBuilder::FxBuilder() {
    module_.spoken = std::make_shared<std::deque<std::string>>();
    module_.name = "graph";
    main_.name = "main";
}

std::string_view FxBuilder::keep(std::string text) { return module_.spoken->emplace_back(std::move(text)); }

XlaAttribute FxBuilder::list(std::string_view key, const FxDims& numbers) {
    return {key, keep(fmt::format("{{{}}}", fmt::join(numbers, ",")))};
}

void FxBuilder::begin(const FxNode& node) {
    from_ = main_.instructions.size();
    name_ = keep(node.name);
    origin_ = {keep(node.scope), keep(node.file), node.line};
    offset_ = node.offset;
}

void FxBuilder::finish(const FxValue& result) {
    if (from_ == main_.instructions.size()) return;
    std::size_t named = main_.instructions.size() - 1;
    while (named > from_ && main_.instructions[named].opcode == "get-tuple-element") --named;
    if (result.is(FxValue::Kind::array) && result.instruction >= from_) named = result.instruction;
    for (std::size_t i = main_.instructions.size(); i-- > from_;) {
        const std::string_view opcode = main_.instructions[i].opcode;
        if (opcode == "dot" || opcode == "convolution" || opcode == "custom-call") named = i;
    }
    for (std::size_t i = from_; i < main_.instructions.size(); ++i) {
        main_.instructions[i].name = i == named ? name_ : keep(fmt::format("{}.{}", name_, i - from_));
    }
    from_ = main_.instructions.size();
}

std::uint32_t FxBuilder::add(std::string_view opcode, XlaShape shape, std::vector<std::uint32_t> operands,
                             std::vector<XlaAttribute> attributes, std::vector<std::uint32_t> called) {
    XlaInstruction made;
    made.opcode = opcode;
    made.name = opcode;  // until the node is finished
    shapes_.push_back(shape);
    made.shape = std::move(shape);
    made.operands = std::move(operands);
    made.attributes = std::move(attributes);
    made.called = std::move(called);
    made.origin = origin_;
    made.offset = offset_;
    main_.instructions.push_back(std::move(made));
    return static_cast<std::uint32_t>(main_.instructions.size() - 1);
}

XlaShape FxBuilder::shape_like(std::uint32_t array, FxDims dims) const {
    XlaShape made;
    made.element = shape(array).element;
    made.dims = std::move(dims);
    return made;
}

std::uint32_t FxBuilder::parameter(const XlaShape& shape) {
    const std::uint32_t made = add("parameter", shape, {});
    main_.instructions[made].literal = keep(fmt::format("{}", parameters_++));
    return made;
}

std::uint32_t FxBuilder::number(double value, XlaShape shape) {
    const std::uint32_t made = add("constant", std::move(shape), {});
    main_.instructions[made].literal = keep(fmt::format("{}", value));
    return made;
}

std::uint32_t FxBuilder::view(std::uint32_t array, FxDims dims) {
    if (this->dims(array) == dims) return array;
    XlaShape other = shape_like(array, std::move(dims));
    return add("bitcast", std::move(other), {array});
}

std::uint32_t FxBuilder::broadcast(std::uint32_t array, const FxDims& dims) {
    const FxDims own = this->dims(array);
    if (own == dims || own.size() > dims.size()) return array;
    FxDims places(own.size());
    std::iota(places.begin(), places.end(), static_cast<std::int64_t>(dims.size() - own.size()));
    XlaShape wide = shape_like(array, dims);
    return add("broadcast", std::move(wide), {array}, {list("dimensions", places)});
}

std::uint32_t FxBuilder::as_array(const FxValue& value, const XlaShape& shape) {
    if (value.is(FxValue::Kind::array)) return broadcast(value.instruction, shape.dims);
    return number(value.number, shape);
}

std::uint32_t FxBuilder::map(std::string_view opcode, const XlaShape& shape, const std::vector<FxValue>& operands) {
    std::vector<std::uint32_t> arrays;
    arrays.reserve(operands.size());
    for (const FxValue& each : operands) arrays.push_back(as_array(each, shape));
    return add(opcode, shape, std::move(arrays));
}

std::uint32_t FxBuilder::applied(std::string_view opcode, const XlaElement& element) {
    const auto key = std::pair(std::string(opcode), std::string(element.name));
    if (const auto found = applied_.find(key); found != applied_.end()) return found->second;
    XlaComputation made;
    made.name = keep(fmt::format("{}_{}", opcode, element.name));
    XlaShape single;
    single.element = &element;
    for (int i = 0; i < 2; ++i) {
        XlaInstruction parameter;
        parameter.name = i == 0 ? "a" : "b";
        parameter.opcode = "parameter";
        parameter.shape = single;
        parameter.literal = i == 0 ? "0" : "1";
        made.instructions.push_back(std::move(parameter));
    }
    if (opcode != "second") {
        XlaInstruction both;
        both.name = "c";
        both.opcode = keep(std::string(opcode));
        both.shape = single;
        both.operands = {0, 1};
        made.instructions.push_back(std::move(both));
    }
    made.root = static_cast<std::uint32_t>(made.instructions.size() - 1);
    const auto index = static_cast<std::uint32_t>(module_.computations.size());
    module_.computations.push_back(std::move(made));
    applied_.emplace(key, index);
    return index;
}

std::uint32_t FxBuilder::reduce(std::uint32_t array, const FxDims& along, std::string_view opcode) {
    if (along.empty()) return array;
    FxDims left;
    FxDims kept = dims(array);
    for (std::size_t d = 0; d < kept.size(); ++d) {
        if (std::find(along.begin(), along.end(), static_cast<std::int64_t>(d)) != along.end()) {
            kept[d] = 1;
        } else {
            left.push_back(kept[d]);
        }
    }
    const XlaElement& element = *shape(array).element;
    const std::uint32_t start = number(0, shape_like(array, {}));
    const std::uint32_t made = add("reduce", shape_like(array, std::move(left)), {array, start},
                                   {list("dimensions", along)}, {applied(opcode, element)});
    return view(made, std::move(kept));
}

std::uint32_t FxBuilder::mean(std::uint32_t array, const FxDims& along) {
    double count = 1;
    for (const std::int64_t dim : along) count *= static_cast<double>(dims(array)[static_cast<std::size_t>(dim)]);
    const std::uint32_t sum = reduce(array, along, "add");
    const XlaShape narrow = shape(sum);
    return map("multiply", narrow, {FxValue::of(sum), FxValue::of_number(1 / std::max(count, 1.0))});
}

FxValue FxBuilder::parts_of(std::uint32_t tuple) {
    const std::vector<XlaShape> shapes = shape(tuple).parts;
    std::vector<FxValue> parts;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        parts.push_back(
            FxValue::of(add("get-tuple-element", shapes[i], {tuple}, {{"index", keep(fmt::format("{}", i))}})));
    }
    return FxValue::of_list(std::move(parts));
}

FxValue FxBuilder::formula(std::string_view text, const std::vector<FxValue>& operands, const XlaShape& shape) {
    std::vector<FxValue> stack;
    while (!text.empty()) {
        const std::size_t blank = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, blank);
        text.remove_prefix(std::min(blank + 1, text.size()));
        double number = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        if (error == std::errc{} && end == word.data() + word.size()) {
            stack.push_back(FxValue::of_number(number));
            continue;
        }
        if (word.size() == 2 && word[0] == 'a' && word[1] >= '0' && word[1] <= '9') {
            const auto place = static_cast<std::size_t>(word[1] - '0');
            stack.push_back(place < operands.size() ? operands[place] : FxValue::of_number(0));
            continue;
        }
        if (word == "dup" && !stack.empty()) {
            stack.emplace_back(stack.back());
            continue;
        }
        if (word == "swap" && stack.size() >= 2) {
            std::swap(stack.back(), stack[stack.size() - 2]);
            continue;
        }
        const std::size_t count = std::min(operands_of(word), stack.size());
        const std::vector<FxValue> taken(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
        stack.resize(stack.size() - count);
        XlaShape made = shape;
        if (is_logical(word) && !text.empty()) made.element = find_xla_element("pred");
        stack.push_back(FxValue::of(map(word, made, taken)));
    }
    if (stack.empty() || stack.back().is(FxValue::Kind::array)) return stack.empty() ? FxValue{} : stack.back();
    return FxValue::of(as_array(stack.back(), shape));
}

std::uint32_t FxBuilder::flat(const FxValue& value) {
    std::vector<std::uint32_t> arrays;
    XlaShape shape;
    for (const FxValue& each : value.items) {
        if (!each.is(FxValue::Kind::array) && !each.is(FxValue::Kind::list)) continue;
        arrays.push_back(each.is(FxValue::Kind::array) ? each.instruction : flat(each));
        shape.parts.push_back(main_.instructions[arrays.back()].shape);
    }
    return add("tuple", std::move(shape), std::move(arrays));
}

XlaModule FxBuilder::take(const FxValue& result, std::int64_t devices, std::shared_ptr<const std::string> text) {
    name_ = "output";
    origin_ = {};
    main_.root = result.is(FxValue::Kind::array) ? result.instruction : flat(result);
    finish({});
    if (devices > 1) module_.attributes.push_back({"num_partitions", keep(fmt::format("{}", devices))});
    module_.entry = static_cast<std::uint32_t>(module_.computations.size());
    module_.computations.push_back(std::move(main_));
    module_.text = std::move(text);
    return std::move(module_);
}

}  // namespace roofline::core
