#include "import/profile/recorded_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "import/profile/result_shapes.hpp"
#include "import/xla/fx/fx_call.hpp"
#include "text/json.hpp"

namespace roofline::core {

namespace {

const XlaElement* element_of(std::string_view type) {
    static constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"float", "f32"},
        {"double", "f64"},
        {"c10::Half", "f16"},
        {"c10::BFloat16", "bf16"},
        {"long int", "s64"},
        {"long", "s64"},
        {"int", "s32"},
        {"short int", "s16"},
        {"signed char", "s8"},
        {"char", "s8"},
        {"unsigned char", "u8"},
        {"bool", "pred"},
        {"c10::complex<float>", "c64"},
        {"c10::Float8_e4m3fn", "f8e4m3fn"},
        {"c10::Float8_e5m2", "f8e5m2"},
    };
    for (const auto& [name, element] : known) {
        if (name == type) return find_xla_element(element);
    }
    return nullptr;
}

std::optional<std::vector<std::int64_t>> sizes_of(const FileValue& list) {
    if (!list.is(FileValue::Kind::list)) return std::nullopt;
    std::vector<std::int64_t> sizes;
    for (const FileValue& size : list.items) {
        if (!size.is(FileValue::Kind::whole) || size.whole < 0) return std::nullopt;
        sizes.push_back(size.whole);
    }
    return sizes;
}

FxType tensor_type(const XlaElement* element, std::vector<std::int64_t> dims) {
    FxType type;
    type.kind = FxType::Kind::tensor;
    type.shape.element = element;
    type.shape.dims = std::move(dims);
    return type;
}

/// "1", "0.5", "True", "[1, 1]", "" as an argument; a text that is none of these stays one.
FxArgument argument_of(std::string_view text) {
    FxArgument argument;
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    if (text.empty() || text == "None") return argument;
    if (text == "True" || text == "False") {
        argument.kind = FxArgument::Kind::flag;
        argument.number = text == "True" ? 1 : 0;
        return argument;
    }
    if (text.front() == '[' && text.back() == ']') {
        argument.kind = FxArgument::Kind::list;
        text = text.substr(1, text.size() - 2);
        while (!text.empty()) {
            const std::size_t comma = std::min(text.find(','), text.size());
            if (text.find('[') < comma) return {};  // lists of lists are no sizes
            argument.items.push_back(argument_of(text.substr(0, comma)));
            text.remove_prefix(std::min(comma + 1, text.size()));
        }
        return argument;
    }
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size()) {
        argument.kind = FxArgument::Kind::number;
        argument.number = number;
        return argument;
    }
    argument.kind = FxArgument::Kind::text;
    argument.text = text;
    return argument;
}

class CallReader {
public:
    explicit CallReader(const RecordedCall& call) : call_(call) {}

    Result<FxGraph> run() {
        if (call_.shapes.empty()) {
            return fail("no_shapes", "the shapes of its inputs were not recorded",
                        "record with torch.profiler.profile(record_shapes=True)");
        }
        ROOFLINE_TRY(const FileValue shapes, parse_json(call_.shapes, "Input Dims"));
        if (!call_.types.empty()) {
            ROOFLINE_TRY(types_, parse_json(call_.types, "Input type"));
        }
        if (!call_.values.empty()) {
            ROOFLINE_TRY(values_, parse_json(call_.values, "Concrete Inputs"));
        }
        FxNode node;
        node.name = "call";
        node.op = "call_function";
        std::string_view name = call_.name;
        constexpr std::string_view spaces[] = {"aten::", "flash_attn::"};
        const auto* const space = std::find_if(std::begin(spaces), std::end(spaces),
                                               [&](std::string_view each) { return name.starts_with(each); });
        if (space == std::end(spaces)) return no_rule();
        name.remove_prefix(space->size());
        node.target = fmt::format("aten.{}", name);
        for (std::size_t i = 0; i < shapes.items.size(); ++i) node.args.push_back(input(shapes.items[i], i));
        if (!typed_) return fail("no_types", "the types of its inputs are not known");
        ResultQuestion question{name, node, graph_, !call_.values.empty()};
        ROOFLINE_CHECK(put_results(question));
        graph_.nodes.push_back(std::move(node));
        FxNode output;
        output.name = "output";
        output.op = "output";
        FxArgument result;
        result.kind = FxArgument::Kind::node;
        result.node = static_cast<std::uint32_t>(graph_.nodes.size() - 1);
        output.args.push_back(std::move(result));
        graph_.nodes.push_back(std::move(output));
        return std::move(graph_);
    }

private:
    [[nodiscard]] tl::unexpected<Error> no_rule() const {
        return fail("no_rule", fmt::format("{} is not known", call_.name));
    }

    FxArgument tensor(std::string_view type, std::vector<std::int64_t> dims) {
        const XlaElement* element = element_of(type);
        if (element == nullptr) typed_ = false;
        static constexpr XlaElement tf32{"f32", "", 32, XlaElement::Kind::floating, Dtype::tf32};
        if (call_.tf32 && type == "float") element = &tf32;
        FxNode placeholder;
        placeholder.name = fmt::format("input{}", graph_.nodes.size());
        placeholder.op = "placeholder";
        placeholder.type = tensor_type(element != nullptr ? element : find_xla_element("f32"), std::move(dims));
        if (!countable(placeholder.type.shape)) typed_ = false;
        FxArgument argument;
        argument.kind = FxArgument::Kind::node;
        argument.node = static_cast<std::uint32_t>(graph_.nodes.size());
        graph_.nodes.push_back(std::move(placeholder));
        return argument;
    }

    // A tensor has a type with a dtype; a list of tensors has the shapes of all, and its dtype is not recorded.
    FxArgument input(const FileValue& shape, std::size_t i) {
        const std::string_view type = i < types_.items.size() ? std::string_view(types_.items[i].text) : "";
        if (type == "TensorList") {
            FxArgument list;
            list.kind = FxArgument::Kind::list;
            for (const FileValue& each : shape.items) {
                if (auto sizes = sizes_of(each)) list.items.push_back(tensor(list_type(), std::move(*sizes)));
            }
            return list;
        }
        const auto sizes = sizes_of(shape);
        if (element_of(type) != nullptr && sizes) return tensor(type, *sizes);
        if (sizes && !sizes->empty()) return tensor(type, *sizes);  // of a dtype that is unknown
        return i < values_.items.size() ? argument_of(values_.items[i].text) : FxArgument{};
    }

    // The dtype of tensors in a list: that of the kernels, of another input, else f32, in which optimizers keep their
    // states.
    [[nodiscard]] std::string_view list_type() const {
        if (!call_.listed.empty()) return call_.listed;
        for (const FileValue& type : types_.items) {
            if (element_of(type.text) != nullptr) return type.text;
        }
        return "float";
    }

    const RecordedCall& call_;
    FileValue types_;
    FileValue values_;
    FxGraph graph_;
    bool typed_ = true;
};

}  // namespace

Result<FxGraph> graph_of(const RecordedCall& call) { return CallReader(call).run(); }

}  // namespace roofline::core
