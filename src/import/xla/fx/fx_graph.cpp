#include "import/xla/fx/fx_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/ascii.hpp"
#include "text/json.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

struct TorchDtype {
    std::string_view torch;
    std::string_view xla;
};

constexpr TorchDtype torch_dtypes[] = {{"bfloat16", "bf16"},
                                       {"bool", "pred"},
                                       {"complex128", "c128"},
                                       {"complex64", "c64"},
                                       {"float16", "f16"},
                                       {"float32", "f32"},
                                       {"float64", "f64"},
                                       {"float8_e4m3fn", "f8e4m3fn"},
                                       {"float8_e4m3fnuz", "f8e4m3fnuz"},
                                       {"float8_e5m2", "f8e5m2"},
                                       {"float8_e5m2fnuz", "f8e5m2fnuz"},
                                       {"float8_e8m0fnu", "f8e8m0fnu"},
                                       {"int16", "s16"},
                                       {"int32", "s32"},
                                       {"int64", "s64"},
                                       {"int8", "s8"},
                                       {"uint16", "u16"},
                                       {"uint32", "u32"},
                                       {"uint64", "u64"},
                                       {"uint8", "u8"}};

// Two numbers of four bits in a byte.
constexpr std::string_view packed_dtype = "float4_e2m1fn_x2";

constexpr std::string_view remedy_of_form =
    "record the graph with roofline.torch_graph(module, args), where PyTorch is installed";

std::optional<std::int64_t> whole_in(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

using Kind = FileValue::Kind;

class FxGraphParser {
public:
    FxGraphParser(std::string_view text, const std::string& name) : source_(text, name), name_(name) {}

    Result<FxGraph> read() {
        ROOFLINE_TRY(const FileValue root, parse_json(source_.text(), name_));
        const FileValue* nodes = root.find("nodes");
        if (nodes == nullptr || !nodes->is(Kind::list)) {
            const bool trace = root.find("traceEvents") != nullptr;
            return wrong(root, "this JSON is no graph of PyTorch: it has no list of nodes",
                         trace ? "it is the trace of a profiler, which roofline trace reads" : remedy_of_form);
        }
        recorded_ = root.find("roofline") != nullptr;
        const FileValue* version = root.find("version");
        if (recorded_ && (version == nullptr || !version->is(Kind::whole) || version->whole != 1)) {
            return wrong(root, "this graph was recorded in another version of the form", remedy_of_form);
        }
        ROOFLINE_CHECK(read_groups(root));
        graph_.nodes.reserve(nodes->items.size());
        for (const FileValue& each : nodes->items) ROOFLINE_CHECK(read_node(each));
        if (graph_.nodes.empty()) return wrong(*nodes, "the graph has no nodes", remedy_of_form);
        return std::move(graph_);
    }

private:
    [[nodiscard]] tl::unexpected<Error> wrong(const FileValue& at, std::string message, std::string_view hint = {},
                                              std::string code = "bad_graph") const {
        return source_.fail_at(source_.span(at.offset), std::move(code), std::move(message), std::string(hint));
    }

    Status read_groups(const FileValue& root) {
        constexpr std::int64_t most = 1'000'000;
        const FileValue* devices = root.find("devices");
        if (devices != nullptr) {
            if (!devices->is(Kind::whole) || devices->whole < 1 || devices->whole > most) {
                return wrong(*devices, "the number of devices is a whole number from 1 to a million");
            }
            graph_.devices = devices->whole;
        }
        const FileValue* groups = root.find("groups");
        if (groups == nullptr) return {};
        for (const auto& [name, ranks] : groups->members) {
            std::vector<std::int64_t> all;
            for (const FileValue& rank : ranks.items) {
                if (!rank.is(Kind::whole) || rank.whole < 0 || rank.whole >= most) {
                    return wrong(rank, fmt::format("the group {} has a rank that is no device", in_ticks(name)));
                }
                all.push_back(rank.whole);
            }
            graph_.groups.emplace(name, std::move(all));
        }
        return {};
    }

    Result<std::string> text_of(const FileValue& node, std::string_view key, bool needed) const {
        const FileValue* value = node.find(key);
        if (value == nullptr || value->is_null()) {
            if (!needed) return std::string();
            return wrong(node, fmt::format("this node has no {}", in_ticks(key)), remedy_of_form);
        }
        if (!value->is(Kind::text)) return wrong(*value, fmt::format("the {} of a node is a text", in_ticks(key)));
        return value->text;
    }

    Status read_node(const FileValue& value) {
        FxNode node;
        node.offset = value.offset;
        if (!value.is(Kind::table)) return wrong(value, "a node is an object with name, op and target", remedy_of_form);
        ROOFLINE_TRY(node.name, text_of(value, "name", true));
        ROOFLINE_TRY(node.op, text_of(value, "op", true));
        ROOFLINE_TRY(node.target, text_of(value, "target", true));
        if (node.name.empty()) return wrong(value, "this node has no name");
        constexpr std::string_view ops[] = {"placeholder", "get_attr",    "call_function",
                                            "call_method", "call_module", "output"};
        if (std::find(std::begin(ops), std::end(ops), node.op) == std::end(ops)) {
            return wrong(value, fmt::format("{} is no kind of node of torch.fx", in_ticks(node.op)),
                         "placeholder, get_attr, call_function, call_method, call_module or output");
        }
        ROOFLINE_TRY(node.file, text_of(value, "file", false));
        ROOFLINE_TRY(node.scope, text_of(value, "scope", false));
        ROOFLINE_TRY(node.kind, text_of(value, "class", false));
        if (const FileValue* line = value.find("line"); line != nullptr && line->is(Kind::whole)) {
            node.line = static_cast<int>(std::clamp<std::int64_t>(line->whole, 0, std::numeric_limits<int>::max()));
        }
        if (const FileValue* args = value.find("args"); args != nullptr) {
            if (!args->is(Kind::list)) return wrong(*args, "the arguments of a node are a list");
            for (const FileValue& each : args->items) {
                ROOFLINE_TRY(FxArgument read, argument(each));
                node.args.push_back(std::move(read));
            }
        }
        ROOFLINE_TRY(node.kwargs, arguments_of(value, "kwargs"));
        ROOFLINE_TRY(node.settings, arguments_of(value, "settings"));
        ROOFLINE_TRY(node.type, recorded_ ? type(value.find("value"), node.name) : listed_type(value, node));
        if (const FileValue* parameters = value.find("parameters"); parameters != nullptr) {
            for (const auto& [key, each] : parameters->members) {
                ROOFLINE_TRY(FxType read, type(&each, node.name));
                node.parameters.emplace_back(key, std::move(read));
            }
        }
        const auto index = static_cast<std::uint32_t>(graph_.nodes.size());
        if (!names_.emplace(node.name, index).second) {
            return wrong(value, fmt::format("the node {} is defined twice", in_ticks(node.name)), {}, "defined_twice");
        }
        graph_.nodes.push_back(std::move(node));
        return {};
    }

    Result<FxNamedArguments> arguments_of(const FileValue& node, std::string_view key) const {
        FxNamedArguments all;
        const FileValue* value = node.find(key);
        if (value == nullptr) return all;
        if (!value->is(Kind::table)) return wrong(*value, fmt::format("{} is an object", in_ticks(key)));
        for (const auto& [name, each] : value->members) {
            ROOFLINE_TRY(FxArgument read, argument(each));
            all.emplace_back(name, std::move(read));
        }
        return all;
    }

    // Nesting is bounded by that of the JSON.
    Result<FxArgument> argument(const FileValue& value) const {
        FxArgument out;
        switch (value.kind) {
            case Kind::null:
                return out;
            case Kind::boolean:
            case Kind::whole:
            case Kind::real:
                out.kind = value.is(Kind::boolean) ? FxArgument::Kind::flag : FxArgument::Kind::number;
                out.number = value.real;
                return out;
            case Kind::text:
                return recorded_ ? text_argument(value) : listed_argument(value.text);
            case Kind::list:
                out.kind = FxArgument::Kind::list;
                for (const FileValue& each : value.items) {
                    ROOFLINE_TRY(FxArgument read, argument(each));
                    out.items.push_back(std::move(read));
                }
                return out;
            case Kind::table:
                break;
        }
        const FileValue* slice = value.find("slice");
        out.kind = slice != nullptr ? FxArgument::Kind::slice : FxArgument::Kind::list;
        if (slice != nullptr) {
            for (const FileValue& each : slice->items) {
                ROOFLINE_TRY(FxArgument read, argument(each));
                out.items.push_back(std::move(read));
            }
            out.items.resize(3);
            return out;
        }
        for (const auto& [key, each] : value.members) {
            ROOFLINE_TRY(FxArgument read, argument(each));
            out.items.push_back(std::move(read));
        }
        return out;
    }

    // "%name" is a node, "%%name" a text that begins with a percent sign.
    Result<FxArgument> text_argument(const FileValue& value) const {
        FxArgument out;
        out.kind = FxArgument::Kind::text;
        out.text = value.text;
        if (!out.text.starts_with('%')) return out;
        out.text.erase(0, 1);
        if (out.text.starts_with('%')) return out;
        const auto found = names_.find(out.text);
        if (found == names_.end()) {
            return wrong(value, fmt::format("the node {} is not defined before it is used", in_ticks(out.text)), {},
                         "undefined");
        }
        out.kind = FxArgument::Kind::node;
        out.node = found->second;
        return out;
    }

    // Arguments as Python prints them: "x", "64", "(x, y)", "None".
    [[nodiscard]] FxArgument listed_argument(std::string_view text, int depth = 0) const {
        FxArgument out;
        text = trimmed(text);
        constexpr int deepest = 16;
        const bool brackets = text.size() >= 2 && ((text.front() == '(' && text.back() == ')') ||
                                                   (text.front() == '[' && text.back() == ']'));
        if (brackets && depth < deepest) {
            out.kind = FxArgument::Kind::list;
            text = text.substr(1, text.size() - 2);
            while (!(text = trimmed(text)).empty()) {
                std::size_t end = 0;
                for (int open = 0; end < text.size() && (open > 0 || text[end] != ','); ++end) {
                    if (text[end] == '(' || text[end] == '[') ++open;
                    if (text[end] == ')' || text[end] == ']') --open;
                }
                out.items.push_back(listed_argument(text.substr(0, end), depth + 1));
                text.remove_prefix(std::min(end + 1, text.size()));
            }
            return out;
        }
        if (text == "None" || text.empty()) return out;
        if (const auto found = names_.find(std::string(text)); found != names_.end()) {
            out.kind = FxArgument::Kind::node;
            out.node = found->second;
            return out;
        }
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool flag = text == "True" || text == "False";
        if (flag || (error == std::errc{} && end == text.data() + text.size())) {
            out.kind = flag ? FxArgument::Kind::flag : FxArgument::Kind::number;
            out.number = flag ? (text == "True" ? 1 : 0) : number;
            return out;
        }
        out.kind = FxArgument::Kind::text;
        out.text = std::string(text);
        return out;
    }

    // "float32[2,8]", a number, or a list of types.
    Result<FxType> type(const FileValue* value, const std::string& node) const {
        FxType out;
        if (value == nullptr || value->is_null()) return out;
        if (value->is_number() || value->is(Kind::boolean)) {
            out.kind = FxType::Kind::number;
            out.number = value->real;
            return out;
        }
        if (value->is(Kind::list)) {
            out.kind = FxType::Kind::list;
            for (const FileValue& each : value->items) {
                ROOFLINE_TRY(FxType read, type(&each, node));
                out.items.push_back(std::move(read));
            }
            if (countable(shape_of_list(out))) return out;
            return wrong(*value, fmt::format("the results of {} have more bits than 63 bits can count", in_ticks(node)),
                         {}, "too_large");
        }
        if (!value->is(Kind::text)) return wrong(*value, "a type is a text such as \"float32[2,8]\"");
        const std::string_view text = value->text;
        const std::size_t open = text.find('[');
        if (open == std::string_view::npos || !text.ends_with(']')) {
            return wrong(*value, fmt::format("{} is no type of a tensor", in_ticks(text)),
                         "a type is written float32[2,8]");
        }
        std::vector<std::int64_t> dims;
        std::string_view sizes = text.substr(open + 1, text.size() - open - 2);
        while (!sizes.empty()) {
            const std::size_t comma = std::min(sizes.find(','), sizes.size());
            const std::string_view size = trimmed(sizes.substr(0, comma));
            const auto number = whole_in(size);
            if (!number || *number < 0) {
                return wrong(*value,
                             fmt::format("the tensor {} has a size that is not known: {}", in_ticks(node), size),
                             fmt::format("export it for fixed sizes, or record it with "
                                         "roofline.torch_graph(module, args, dims={{'{}': 8}})",
                                         size),
                             "dynamic_shape");
            }
            dims.push_back(*number);
            sizes.remove_prefix(std::min(comma + 1, sizes.size()));
        }
        return tensor(text.substr(0, open), std::move(dims), *value, node);
    }

    Result<FxType> tensor(std::string_view dtype, std::vector<std::int64_t> dims, const FileValue& at,
                          const std::string& node) const {
        FxType out;
        out.kind = FxType::Kind::tensor;
        if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
        if (dtype == packed_dtype && !dims.empty() && dims.back() <= std::numeric_limits<std::int64_t>::max() / 2) {
            dims.back() *= 2;
            out.shape.element = find_xla_element("f4e2m1fn");
        }
        for (const TorchDtype& known : torch_dtypes) {
            if (known.torch == dtype) out.shape.element = find_xla_element(known.xla);
        }
        if (out.shape.element == nullptr) {
            return wrong(at, fmt::format("the tensor {} has a dtype that is not known: {}", in_ticks(node), dtype));
        }
        constexpr std::size_t most_dims = 64;  // as many as PyTorch has
        out.shape.dims = std::move(dims);
        if (out.shape.dims.size() > most_dims) {
            return wrong(at, fmt::format("the tensor {} has more than 64 dimensions", in_ticks(node)));
        }
        if (countable(out.shape)) return out;
        return wrong(at, fmt::format("the tensor {} has more bits than 63 bits can count", in_ticks(node)), {},
                     "too_large");
    }

    static XlaShape shape_of_list(const FxType& type) {
        if (type.kind == FxType::Kind::tensor) return type.shape;
        XlaShape shape;
        for (const FxType& each : type.items) shape.parts.push_back(shape_of_list(each));
        return shape;
    }

    // `shape` and `dtype` of a node; of several results `shape` is a list of shapes, and `dtype` is empty.
    Result<FxType> listed_type(const FileValue& value, const FxNode& node) const {
        const FileValue* shape = value.find("shape");
        FxType out;
        if (shape == nullptr || shape->is_null()) return out;
        if (!shape->is(Kind::list)) return wrong(*shape, "the shape of a node is a list");
        ROOFLINE_TRY(std::string dtype, text_of(value, "dtype", false));
        if (dtype.empty()) dtype = dtype_of_arguments(node);
        const bool several = !shape->items.empty() && shape->items.front().is(Kind::list);
        std::vector<FxType> all;
        for (const FileValue& each : several ? shape->items : std::vector<FileValue>{*shape}) {
            std::vector<std::int64_t> dims;
            for (const FileValue& size : each.items) {
                if (!size.is(Kind::whole) || size.whole < 0) {
                    return wrong(size, fmt::format("the tensor {} has a size that is not known", in_ticks(node.name)),
                                 "record it for fixed sizes", "dynamic_shape");
                }
                dims.push_back(size.whole);
            }
            ROOFLINE_TRY(FxType one, tensor(dtype, std::move(dims), each, node.name));
            all.push_back(std::move(one));
        }
        if (!several) return std::move(all.front());
        out.kind = FxType::Kind::list;
        out.items = std::move(all);
        if (countable(shape_of_list(out))) return out;
        return wrong(*shape, "these results have more bits than 63 bits can count", {}, "too_large");
    }

    [[nodiscard]] std::string dtype_of_arguments(const FxNode& node) const {
        for (const FxArgument& each : node.args) {
            if (each.kind != FxArgument::Kind::node) continue;
            const FxType& type = graph_.nodes[each.node].type;
            if (type.kind != FxType::Kind::tensor) continue;
            for (const TorchDtype& known : torch_dtypes) {
                if (known.xla == type.shape.element->name) return std::string(known.torch);
            }
        }
        return "float32";
    }

    Source source_;
    const std::string& name_;
    FxGraph graph_;
    std::unordered_map<std::string, std::uint32_t> names_;
    bool recorded_ = false;
};

}  // namespace

Result<FxGraph> read_fx_graph(std::string_view text, const std::string& name) {
    return FxGraphParser(text, name).read();
}

}  // namespace roofline::core
