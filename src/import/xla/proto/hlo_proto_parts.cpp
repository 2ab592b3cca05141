#include "import/xla/proto/hlo_proto_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofline::core {

namespace {

// PrimitiveType of xla_data.proto.
std::string_view element_name(std::int64_t type) {
    constexpr std::string_view names[] = {
        "",     "pred",   "s8",       "s16", "s32", "s64",           "u8",         "u16",        "u32",
        "u64",  "f16",    "f32",      "f64", "",    "opaque",        "c64",        "bf16",       "token",
        "c128", "f8e5m2", "f8e4m3fn", "s4",  "u4",  "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2",
        "u2",   "f8e4m3", "f8e3m4",   "s1",  "u1",  "f4e2m1fn",      "f8e8m0fnu",  "buffer"};
    return type < 0 || static_cast<std::size_t>(type) >= std::size(names) ? std::string_view()
                                                                          : names[static_cast<std::size_t>(type)];
}

constexpr std::int64_t tuple_type = 13;
constexpr std::size_t most_dims = 64;

struct TileAssignment {
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> devices;
    std::vector<std::int64_t> reshape;
    std::vector<std::int64_t> transpose;

    // `[2,4]<=[8]`, `[4,2]<=[2,4]T(1,0)`.
    [[nodiscard]] std::string iota() const {
        std::string text = fmt::format("[{}]<=[{}]", fmt::join(dims, ","), fmt::join(reshape, ","));
        if (!std::is_sorted(transpose.begin(), transpose.end()))
            text += fmt::format("T({})", fmt::join(transpose, ","));
        return text;
    }
};

// Types of OpSharding.
std::string_view sharding_type(std::int64_t type) {
    constexpr std::string_view names[] = {"replicated", "maximal", "tuple", "other", "manual", "unknown", "unreduced"};
    return type < 0 || static_cast<std::size_t>(type) >= std::size(names) ? "unknown"
                                                                          : names[static_cast<std::size_t>(type)];
}

struct MeshAxes {
    std::vector<std::pair<std::string_view, std::int64_t>> axes;
    std::vector<std::int64_t> devices;
};

MeshAxes mesh_of_proto(ProtoMessage message) {
    MeshAxes mesh;
    while (message.next()) {
        if (message.field() == 2) message.add_integers(mesh.devices);
        if (message.field() != 1) continue;
        auto& [name, size] = mesh.axes.emplace_back();
        for (ProtoMessage axis = message.message(); axis.next();) {
            if (axis.field() == 1) name = axis.bytes();
            if (axis.field() == 2) size = axis.integer();
        }
    }
    return mesh;
}

std::string mesh_text(const MeshAxes& mesh) {
    std::string text = "mesh[";
    for (const auto& [name, size] : mesh.axes) {
        text += fmt::format("{}'{}'={}", text.back() == '[' ? "" : ",", name, size);
    }
    if (!mesh.devices.empty()) text += fmt::format("], device_ids=([{}]", fmt::join(mesh.devices, ","));
    return text + (mesh.devices.empty() ? "]" : ")");
}

// `'x'`, or the part of it `'x':(1)2`.
std::string axis_of_proto(ProtoMessage message, const MeshAxes& mesh) {
    std::int64_t index = 0;
    std::string part;
    while (message.next()) {
        if (message.field() == 1) index = message.integer();
        if (message.field() != 2) continue;
        std::int64_t before = 0;
        std::int64_t size = 0;
        for (ProtoMessage sub = message.message(); sub.next();) {
            if (sub.field() == 1) before = sub.integer();
            if (sub.field() == 2) size = sub.integer();
        }
        part = fmt::format(":({}){}", before, size);
    }
    const bool known = index >= 0 && static_cast<std::size_t>(index) < mesh.axes.size();
    return fmt::format("'{}'{}", known ? mesh.axes[static_cast<std::size_t>(index)].first : "?", part);
}

// `mesh['x'=2,'y'=4], [{'x'}, {'y', ?}], replicated={'z'}, unreduced={'w'}`.
std::string named_sharding_of_proto(ProtoMessage message) {
    // The mesh comes after the tuple and before all that names its axes, as fields are written in the order of their
    // numbers.
    MeshAxes mesh;
    std::vector<std::string> tuple;
    std::vector<std::string> dims;
    std::vector<std::string> replicated;
    std::vector<std::string> unreduced;
    while (message.next()) {
        switch (message.field()) {
            case 1:
                tuple.push_back(named_sharding_of_proto(message.message()));
                break;
            case 2:
                mesh = mesh_of_proto(message.message());
                break;
            case 3: {
                std::vector<std::string> axes;
                bool closed = false;
                for (ProtoMessage dim = message.message(); dim.next();) {
                    if (dim.field() == 1) axes.push_back(axis_of_proto(dim.message(), mesh));
                    if (dim.field() == 2) closed = dim.flag();
                }
                if (!closed) axes.emplace_back("?");
                dims.push_back(fmt::format("{{{}}}", fmt::join(axes, ", ")));
                break;
            }
            case 4:
                replicated.push_back(axis_of_proto(message.message(), mesh));
                break;
            case 5:
                unreduced.push_back(axis_of_proto(message.message(), mesh));
                break;
            default:
                break;
        }
    }
    if (!tuple.empty()) return fmt::format("{{{}}}", fmt::join(tuple, ", "));
    std::string text = fmt::format("{{{}, [{}]", mesh_text(mesh), fmt::join(dims, ", "));
    if (!replicated.empty()) text += fmt::format(", replicated={{{}}}", fmt::join(replicated, ", "));
    if (!unreduced.empty()) text += fmt::format(", unreduced={{{}}}", fmt::join(unreduced, ", "));
    return text + "}";
}

void read_layout(ProtoMessage layout, XlaShape& shape, std::vector<std::int64_t>& order) {
    while (layout.next()) {
        if (layout.field() == 1) layout.add_integers(order);
        if (layout.field() == 6) shape.tiled = true;
        if (layout.field() == 8) {
            shape.memory_space = static_cast<int>(std::clamp<std::int64_t>(layout.integer(), 0, 1000));
        }
    }
}

}  // namespace

std::string braced_numbers(const std::vector<std::int64_t>& numbers) {
    return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

std::string quoted_bytes(std::string_view bytes) {
    std::string text = "\"";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            text += '\\';
            text += c;
        } else if (byte < 0x20U || byte > 0x7EU) {
            text += fmt::format("\\{:03o}", byte);
        } else {
            text += c;
        }
    }
    return text + "\"";
}

Result<XlaShape> read_shape_proto(ProtoFile& file, ProtoMessage message, std::size_t offset) {
    XlaShape shape;
    std::int64_t type = 0;
    std::vector<std::int64_t> dynamic;
    std::vector<std::int64_t> order;  // of the layout
    while (message.next()) {
        switch (message.field()) {
            case 2:
                type = message.integer();
                break;
            case 3:
                message.add_integers(shape.dims);
                break;
            case 4: {
                ROOFLINE_TRY(auto part, read_shape_proto(file, message.message(), message.offset()));
                shape.parts.push_back(std::move(part));
                break;
            }
            case 5:
                read_layout(message.message(), shape, order);
                break;
            case 6:
                message.add_integers(dynamic);
                break;
            default:
                break;
        }
    }
    ROOFLINE_CHECK(file.status());
    std::vector<int> minor_to_major;
    for (const std::int64_t dim : order) {
        minor_to_major.push_back(static_cast<int>(std::clamp<std::int64_t>(dim, 0, most_dims)));
    }
    shape.put_layout(minor_to_major);
    shape.dynamic = std::find(dynamic.begin(), dynamic.end(), 1) != dynamic.end();
    if (type != tuple_type) {
        const std::string_view name = element_name(type);
        // A buffer is an array whose memory is named; its array is its only part.
        if (name == "buffer" && shape.parts.size() == 1) return std::move(shape.parts.front());
        shape.element = name.empty() ? nullptr : find_xla_element(name);
        if (shape.element == nullptr) {
            return file.fail_at(offset, "bad_hlo", fmt::format("a shape has the unknown element type {}", type));
        }
        if (!shape.parts.empty()) return file.fail_at(offset, "bad_hlo", "the shape of an array has parts");
    } else if (!shape.dims.empty()) {
        return file.fail_at(offset, "bad_hlo", "the shape of a tuple has dimensions");
    }
    if (shape.dims.size() > most_dims) {
        return file.fail_at(offset, "too_large", "a shape has more than 64 dimensions");
    }
    if (std::any_of(shape.dims.begin(), shape.dims.end(), [](std::int64_t size) { return size < 0; })) {
        return file.fail_at(offset, "bad_hlo", "a size of a shape is negative",
                            "an unbounded dimension has no size: export the module with sizes");
    }
    if (!countable(shape)) {
        return file.fail_at(offset, "too_large", "this shape has more bits than 63 bits can count", "check its sizes");
    }
    return shape;
}

std::string window_of_proto(ProtoMessage message) {
    std::vector<std::int64_t> dims;
    std::string size;
    std::string stride;
    std::string pad;
    std::string lhs_dilate;
    std::string rhs_dilate;
    std::string reversed;
    bool strides = false;
    bool pads = false;
    bool lhs_dilates = false;
    bool rhs_dilates = false;
    bool reverses = false;
    while (message.next()) {
        if (message.field() != 1) continue;
        std::int64_t numbers[8] = {0, 0, 0, 0, 0, 1, 1, 0};
        for (ProtoMessage dim = message.message(); dim.next();) {
            if (dim.field() >= 1 && dim.field() <= 7) numbers[dim.field()] = dim.integer();
        }
        const std::string_view by = size.empty() ? "" : "x";
        size += fmt::format("{}{}", by, numbers[1]);
        stride += fmt::format("{}{}", by, numbers[2]);
        pad += fmt::format("{}{}_{}", by, numbers[3], numbers[4]);
        rhs_dilate += fmt::format("{}{}", by, numbers[5]);
        lhs_dilate += fmt::format("{}{}", by, numbers[6]);
        reversed += fmt::format("{}{}", by, numbers[7]);
        strides = strides || numbers[2] != 1;
        pads = pads || numbers[3] != 0 || numbers[4] != 0;
        rhs_dilates = rhs_dilates || numbers[5] != 1;
        lhs_dilates = lhs_dilates || numbers[6] != 1;
        reverses = reverses || numbers[7] != 0;
    }
    if (size.empty()) return "{}";
    std::string text = "{size=" + size;
    if (strides) text += " stride=" + stride;
    if (pads) text += " pad=" + pad;
    if (lhs_dilates) text += " lhs_dilate=" + lhs_dilate;
    if (rhs_dilates) text += " rhs_dilate=" + rhs_dilate;
    if (reverses) text += " rhs_reversal=" + reversed;
    return text + "}";
}

std::string dim_labels_of_proto(ProtoMessage message) {
    std::int64_t input[2] = {0, 0};
    std::int64_t kernel[2] = {0, 0};
    std::int64_t output[2] = {0, 0};
    std::vector<std::int64_t> in_space;
    std::vector<std::int64_t> kernel_space;
    std::vector<std::int64_t> out_space;
    while (message.next()) {
        switch (message.field()) {
            case 3:
                kernel[0] = message.integer();
                break;
            case 4:
                kernel[1] = message.integer();
                break;
            case 6:
                message.add_integers(kernel_space);
                break;
            case 7:
                input[0] = message.integer();
                break;
            case 8:
                input[1] = message.integer();
                break;
            case 9:
                output[0] = message.integer();
                break;
            case 10:
                output[1] = message.integer();
                break;
            case 11:
                message.add_integers(in_space);
                break;
            case 12:
                message.add_integers(out_space);
                break;
            default:
                break;
        }
    }
    const auto labels = [](const std::int64_t(&two)[2], std::string_view letters,
                           const std::vector<std::int64_t>& space) -> std::string {
        std::string text(space.size() + 2, ' ');
        const auto put = [&](std::int64_t place, char label) {
            if (place < 0 || static_cast<std::size_t>(place) >= text.size()) return;
            text[static_cast<std::size_t>(place)] = label;
        };
        put(two[0], letters[0]);
        put(two[1], letters[1]);
        for (std::size_t i = 0; i < std::min<std::size_t>(space.size(), 10); ++i) {
            put(space[i], static_cast<char>('0' + i));
        }
        return text.find(' ') == std::string::npos ? text : std::string();
    };
    const std::string in = labels(input, "bf", in_space);
    const std::string window = labels(kernel, "io", kernel_space);
    const std::string out = labels(output, "bf", out_space);
    if (in.empty() || window.empty() || out.empty()) return {};
    return fmt::format("{}_{}->{}", in, window, out);
}

std::string sharding_of_proto(ProtoMessage message) {
    std::int64_t type = 0;
    TileAssignment tiles;
    std::vector<std::string> tuple;
    std::vector<std::int64_t> last_types;
    bool replicate_last = false;
    while (message.next()) {
        switch (message.field()) {
            case 1:
                type = message.integer();
                break;
            case 3:
                message.add_integers(tiles.dims);
                break;
            case 4:
                message.add_integers(tiles.devices);
                break;
            case 5:
                tuple.push_back(sharding_of_proto(message.message()));
                break;
            case 6:
                replicate_last = message.flag();
                break;
            case 8:
                message.add_integers(last_types);
                break;
            case 9:
                message.add_integers(tiles.reshape);
                break;
            case 10:
                message.add_integers(tiles.transpose);
                break;
            case 14:
                return named_sharding_of_proto(message.message());
            default:
                break;
        }
    }
    const std::string_view kind = sharding_type(type);
    if (kind == "tuple") return fmt::format("{{{}}}", fmt::join(tuple, ", "));
    if (kind == "maximal") {
        return fmt::format("{{maximal device={}}}", tiles.devices.empty() ? 0 : tiles.devices.front());
    }
    if (kind != "other") return fmt::format("{{{}}}", kind);
    std::string text = "{devices=";
    text += tiles.devices.empty() ? tiles.iota()
                                  : fmt::format("[{}]{}", fmt::join(tiles.dims, ","), fmt::join(tiles.devices, ","));
    if (replicate_last) text += " last_tile_dim_replicate";
    if (!last_types.empty()) {
        std::vector<std::string_view> names;
        for (const std::int64_t each : last_types) names.push_back(sharding_type(each));
        text += fmt::format(" last_tile_dims={{{}}}", fmt::join(names, ", "));
    }
    return text + "}";
}

std::string iota_groups_of_proto(ProtoMessage message) {
    TileAssignment tiles;
    tiles.dims = {0, 0};
    while (message.next()) {
        if (message.field() == 1) tiles.dims[0] = message.integer();
        if (message.field() == 2) tiles.dims[1] = message.integer();
        if (message.field() == 3) message.add_integers(tiles.reshape);
        if (message.field() == 4) message.add_integers(tiles.transpose);
    }
    return tiles.iota();
}

std::string mesh_groups_of_proto(ProtoMessage message) {
    MeshAxes mesh;
    std::vector<std::string> axes;
    while (message.next()) {
        if (message.field() == 1) mesh = mesh_of_proto(message.message());
        if (message.field() == 2) axes.push_back(axis_of_proto(message.message(), mesh));
    }
    return fmt::format("{} {{{}}}", mesh_text(mesh), fmt::join(axes, ","));
}

std::string replica_group_of_proto(ProtoMessage message) {
    std::vector<std::int64_t> ids;
    while (message.next()) {
        if (message.field() == 1) message.add_integers(ids);
    }
    return braced_numbers(ids);
}

std::string frontend_attributes_of_proto(ProtoMessage message) {
    std::vector<std::string> items;
    while (message.next()) {
        if (message.field() != 1) continue;
        std::string_view key;
        std::string_view value;
        for (ProtoMessage entry = message.message(); entry.next();) {
            if (entry.field() == 1) key = entry.bytes();
            if (entry.field() == 2) value = entry.bytes();
        }
        // XLA writes a value in braces as it is.
        const bool braces = value.starts_with('{') && value.ends_with('}');
        items.push_back(fmt::format("{}={}", key, braces ? std::string(value) : quoted_bytes(value)));
    }
    std::sort(items.begin(), items.end());
    return fmt::format("{{{}}}", fmt::join(items, ","));
}

}  // namespace roofline::core
