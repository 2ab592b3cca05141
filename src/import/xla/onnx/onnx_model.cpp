#include "import/xla/onnx/onnx_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace roofline::core {

namespace {

// Values of shapes, axes and factors are kept, weights are not.
constexpr std::int64_t most_numbers = 4096;

/// An element type of TensorProto, and the bytes of one in raw data.
struct OnnxElement {
    std::string_view name;
    int bytes = 0;  ///< 0: its values are not read
};

constexpr OnnxElement onnx_elements[] = {
    {"", 0},    {"f32", 4},  {"u8", 1},       {"s8", 1},        {"u16", 2},        {"s16", 2},    {"s32", 4},
    {"s64", 8}, {"", 0},     {"pred", 1},     {"f16", 2},       {"f64", 8},        {"u32", 4},    {"u64", 8},
    {"c64", 0}, {"c128", 0}, {"bf16", 2},     {"f8e4m3fn", 0},  {"f8e4m3fnuz", 0}, {"f8e5m2", 0}, {"f8e5m2fnuz", 0},
    {"u4", 0},  {"s4", 0},   {"f4e2m1fn", 0}, {"f8e8m0fnu", 0}, {"u2", 0},         {"s2", 0}};

constexpr std::int64_t text_type = 8;

OnnxNumber number_of_bytes(std::string_view name, std::string_view bytes) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    if (name == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (name == "f64") return std::bit_cast<double>(bits);
    if (name == "bf16") return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16U));
    if (name.front() == 'u' || name == "pred") return static_cast<OnnxNumber>(bits);
    const std::size_t unused = 64 - 8 * bytes.size();
    return static_cast<OnnxNumber>(static_cast<std::int64_t>(bits << unused) >> unused);
}

class OnnxReader {
public:
    explicit OnnxReader(ProtoFile& file) : file_(file) {}

    Result<OnnxModel> read() {
        OnnxModel model;
        bool has_graph = false;
        for (ProtoMessage at(file_); at.next();) {
            switch (at.field()) {
                case 2:
                    model.producer = at.bytes();
                    break;
                case 7: {
                    has_graph = true;
                    ROOFLINE_TRY(model.graph, graph(at.message(), at.offset()));
                    break;
                }
                case 8:
                    add_opset(at.message(), model.opsets);
                    break;
                case 25: {
                    ROOFLINE_TRY(auto one, function(at.message()));
                    model.functions.push_back(std::move(one));
                    break;
                }
                default:
                    break;
            }
        }
        ROOFLINE_CHECK(file_.status());
        if (!has_graph) return file_.fail_at(0, "bad_onnx", "the model has no graph", "give a whole .onnx file");
        return model;
    }

private:
    void add_opset(ProtoMessage at, std::map<std::string_view, std::int64_t>& opsets) {
        std::string_view domain;
        std::int64_t version = 0;
        while (at.next()) {
            if (at.field() == 1) domain = at.bytes();
            if (at.field() == 2) version = at.integer();
        }
        opsets[domain == "ai.onnx" ? "" : domain] = version;
    }

    Result<OnnxGraph> graph(ProtoMessage at, std::size_t offset) {
        OnnxGraph made;
        made.offset = offset;
        while (at.next()) {
            switch (at.field()) {
                case 1: {
                    ROOFLINE_TRY(auto one, node(at.message(), at.offset()));
                    made.nodes.push_back(std::move(one));
                    break;
                }
                case 2:
                    made.name = at.bytes();
                    break;
                case 5: {
                    ROOFLINE_TRY(auto one, tensor(at.message(), at.offset()));
                    made.initializers.push_back(std::move(one));
                    break;
                }
                case 11:
                case 12:
                case 13: {
                    ROOFLINE_TRY(auto one, value_type(at.message(), at.offset()));
                    (at.field() == 11   ? made.inputs
                     : at.field() == 12 ? made.outputs
                                        : made.types)
                        .push_back(std::move(one));
                    break;
                }
                case 15:
                    return file_.fail_at(at.offset(), "unsupported", "the graph has sparse initializers",
                                         "store them as dense tensors");
                default:
                    break;
            }
        }
        ROOFLINE_CHECK(file_.status());
        return made;
    }

    Result<OnnxNode> node(ProtoMessage at, std::size_t offset) {
        OnnxNode made;
        made.offset = offset;
        while (at.next()) {
            switch (at.field()) {
                case 1:
                    made.inputs.push_back(at.bytes());
                    break;
                case 2:
                    made.outputs.push_back(at.bytes());
                    break;
                case 3:
                    made.name = at.bytes();
                    break;
                case 4:
                    made.type = at.bytes();
                    break;
                case 5: {
                    ROOFLINE_TRY(auto one, attribute(at.message()));
                    made.attributes.push_back(std::move(one));
                    break;
                }
                case 7:
                    made.domain = at.bytes();
                    break;
                case 8:
                    made.overload = at.bytes();
                    break;
                default:
                    break;
            }
        }
        ROOFLINE_CHECK(file_.status());
        if (made.domain == "ai.onnx") made.domain = "";
        if (made.type.empty()) return file_.fail_at(offset, "bad_onnx", "a node has no operator");
        return made;
    }

    Result<OnnxAttribute> attribute(ProtoMessage at) {
        OnnxAttribute made;
        while (at.next()) {
            switch (at.field()) {
                case 1:
                    made.name = at.bytes();
                    break;
                case 2:
                    made.real = at.float_number();
                    break;
                case 3:
                    made.integer = at.integer();
                    break;
                case 4:
                    made.text = at.bytes();
                    break;
                case 5: {
                    ROOFLINE_TRY(auto one, tensor(at.message(), at.offset()));
                    made.tensor = std::make_shared<const OnnxTensor>(std::move(one));
                    break;
                }
                case 6: {
                    ROOFLINE_TRY(auto one, graph(at.message(), at.offset()));
                    made.graph = std::make_shared<const OnnxGraph>(std::move(one));
                    break;
                }
                case 7:
                    at.add_floats(made.reals);
                    break;
                case 8:
                    at.add_integers(made.integers);
                    break;
                case 21:
                    made.refers = at.bytes();
                    break;
                default:
                    break;
            }
        }
        ROOFLINE_CHECK(file_.status());
        return made;
    }

    Result<OnnxFunction> function(ProtoMessage at) {
        OnnxFunction made;
        while (at.next()) {
            switch (at.field()) {
                case 1:
                    made.name = at.bytes();
                    break;
                case 4:
                    made.inputs.push_back(at.bytes());
                    break;
                case 5:
                    made.outputs.push_back(at.bytes());
                    break;
                case 7: {
                    ROOFLINE_TRY(auto one, node(at.message(), at.offset()));
                    made.nodes.push_back(std::move(one));
                    break;
                }
                case 9:
                    add_opset(at.message(), made.opsets);
                    break;
                case 10:
                    made.domain = at.bytes();
                    break;
                case 11: {
                    ROOFLINE_TRY(auto one, attribute(at.message()));
                    made.defaults.push_back(std::move(one));
                    break;
                }
                case 13:
                    made.overload = at.bytes();
                    break;
                default:
                    break;
            }
        }
        ROOFLINE_CHECK(file_.status());
        return made;
    }

    Result<const XlaElement*> element(std::int64_t type, std::size_t offset) const {
        if (type == text_type) return nullptr;
        const XlaElement* const found = element_of_onnx(type);
        if (found == nullptr) {
            return file_.fail_at(offset, "bad_onnx", fmt::format("there is no element type {} in ONNX", type));
        }
        return found;
    }

    Result<OnnxTensor> tensor(ProtoMessage at, std::size_t offset) {
        OnnxTensor made;
        made.offset = offset;
        std::int64_t type = 0;
        std::vector<std::int64_t> integers;
        std::vector<double> reals;
        std::string_view raw;
        bool has_raw = false;
        while (at.next()) {
            switch (at.field()) {
                case 1:
                    at.add_integers(made.dims);
                    break;
                case 2:
                    type = at.integer();
                    break;
                case 4:
                    if (at.has_bytes() && at.bytes().size() > 4 * most_numbers) break;  // weights
                    at.add_floats(reals);
                    break;
                case 5:
                case 7:
                case 11:
                    if (at.has_bytes() && at.bytes().size() > 10 * most_numbers) break;
                    at.add_integers(integers);
                    break;
                case 8:
                    made.name = at.bytes();
                    break;
                case 9:
                    raw = at.bytes();
                    has_raw = true;
                    break;
                case 10:
                    if (at.has_bytes() && at.bytes().size() > 8 * most_numbers) break;
                    at.add_doubles(reals);
                    break;
                default:
                    break;
            }
        }
        ROOFLINE_CHECK(file_.status());
        ROOFLINE_TRY(made.element, element(type, offset));
        std::int64_t count = 1;
        for (const std::int64_t size : made.dims) {
            if (size < 0) return file_.fail_at(offset, "bad_onnx", "a tensor has a negative size");
            if (__builtin_mul_overflow(count, size, &count)) {
                return file_.fail_at(offset, "too_large", "a tensor has more elements than 63 bits can count");
            }
        }
        if (made.element == nullptr || count > most_numbers) return made;
        const OnnxElement& stored = onnx_elements[type];
        const auto size = static_cast<std::size_t>(count);
        std::vector<OnnxNumber> numbers;
        if (has_raw && stored.bytes > 0) {
            const auto width = static_cast<std::size_t>(stored.bytes);
            if (raw.size() != size * width) {
                return file_.fail_at(
                    offset, "bad_onnx",
                    fmt::format("a tensor of {} elements of {} bytes has {} bytes of data", count, width, raw.size()));
            }
            if (stored.name == "f16") return made;
            for (std::size_t i = 0; i < size; ++i) {
                numbers.push_back(number_of_bytes(stored.name, raw.substr(i * width, width)));
            }
        } else if (integers.size() == size && stored.name != "f16" && stored.name != "bf16") {
            numbers.assign(integers.begin(), integers.end());
        } else if (reals.size() == size) {
            numbers.assign(reals.begin(), reals.end());
        } else {
            return made;  // beside the file, or of a type whose values do not matter
        }
        made.numbers = std::move(numbers);
        return made;
    }

    Result<OnnxType> value_type(ProtoMessage at, std::size_t offset) {
        OnnxType made;
        made.offset = offset;
        while (at.next()) {
            if (at.field() == 1) made.name = at.bytes();
            if (at.field() != 2) continue;
            for (ProtoMessage type = at.message(); type.next();) {
                if (type.field() != 1) continue;
                made.is_tensor = true;
                for (ProtoMessage tensor_type = type.message(); tensor_type.next();) {
                    if (tensor_type.field() == 1) {
                        const std::int64_t number = tensor_type.integer();
                        if (number == 0) continue;
                        ROOFLINE_TRY(made.element, element(number, offset));
                    }
                    if (tensor_type.field() == 2) made.dims = dims_of(tensor_type.message());
                }
            }
        }
        ROOFLINE_CHECK(file_.status());
        return made;
    }

    static std::vector<OnnxDim> dims_of(ProtoMessage at) {
        std::vector<OnnxDim> dims;
        while (at.next()) {
            if (at.field() != 1) continue;
            OnnxDim& dim = dims.emplace_back();
            for (ProtoMessage one = at.message(); one.next();) {
                // Older exporters write -1 for a size that they do not know.
                if (one.field() == 1) {
                    const std::int64_t size = one.integer();
                    if (size >= 0) dim.size = size;
                }
                if (one.field() == 2) dim.name = one.bytes();
            }
        }
        return dims;
    }

    ProtoFile& file_;
};

}  // namespace

const XlaElement* element_of_onnx(std::int64_t type) {
    const bool known = type > 0 && static_cast<std::size_t>(type) < std::size(onnx_elements);
    return known ? find_xla_element(onnx_elements[type].name) : nullptr;
}

Result<OnnxModel> read_onnx_model(ProtoFile& file) { return OnnxReader(file).read(); }

}  // namespace roofline::core
