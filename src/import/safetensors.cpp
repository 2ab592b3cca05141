// Reads safetensors: eight bytes of length, a JSON table of tensors, then the tensors.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/ascii.hpp"
#include "import/weight_files.hpp"
#include "text/json.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t length_bytes = 8;

struct SafetensorsType {
    std::string_view word;
    std::int64_t bits;
};

constexpr std::array stored_types{
    SafetensorsType{"F64", 64},    SafetensorsType{"F32", 32},    SafetensorsType{"F16", 16},
    SafetensorsType{"BF16", 16},   SafetensorsType{"I64", 64},    SafetensorsType{"I32", 32},
    SafetensorsType{"I16", 16},    SafetensorsType{"I8", 8},      SafetensorsType{"U64", 64},
    SafetensorsType{"U32", 32},    SafetensorsType{"U16", 16},    SafetensorsType{"U8", 8},
    SafetensorsType{"BOOL", 8},    SafetensorsType{"F8_E4M3", 8}, SafetensorsType{"F8_E5M2", 8},
    SafetensorsType{"F8_E8M0", 8}, SafetensorsType{"F6_E2M3", 6}, SafetensorsType{"F6_E3M2", 6},
    SafetensorsType{"F4", 4},      SafetensorsType{"C64", 64},
};

tl::unexpected<Error> bad(std::string_view tensor, std::string_view what) {
    return fail("bad_tensor", fmt::format("tensor {} {}", in_ticks(tensor), what), "the file is damaged");
}

/// Parses sizes or offsets, which are integers of at least 0.
std::optional<std::vector<std::int64_t>> sizes_in(const FileValue* list) {
    if (list == nullptr || list->kind != FileValue::Kind::list) return std::nullopt;
    std::vector<std::int64_t> sizes;
    for (const FileValue& item : list->items) {
        if (item.kind != FileValue::Kind::whole || item.whole < 0) return std::nullopt;
        sizes.push_back(item.whole);
    }
    return sizes;
}

Result<TensorSpan> read_tensor(const std::string& name, const FileValue& entry, Checkpoint& checkpoint) {
    const FileValue* dtype = entry.find("dtype");
    if (dtype == nullptr || dtype->kind != FileValue::Kind::text) return bad(name, "has no dtype");
    const auto type = std::find_if(stored_types.begin(), stored_types.end(),
                                   [&](const SafetensorsType& stored) { return stored.word == dtype->text; });
    if (type == stored_types.end()) {
        return fail("unknown_dtype",
                    fmt::format("tensor {} has the unknown dtype {}", in_ticks(name), in_ticks(dtype->text)));
    }
    auto shape = sizes_in(entry.find("shape"));
    if (!shape) return bad(name, "has no valid shape");
    const auto offsets = sizes_in(entry.find("data_offsets"));
    if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
        return bad(name, "does not have two ascending offsets");
    StoredTensor tensor{name, lowered(type->word), std::move(*shape), 0, 0};
    ROOFLINE_CHECK(measure_tensor(tensor, {1, type->bits}));
    if (tensor.bytes != (*offsets)[1] - (*offsets)[0]) {
        return bad(name, fmt::format("takes {} bytes according to its shape but {} according to its offsets",
                                     tensor.bytes, (*offsets)[1] - (*offsets)[0]));
    }
    checkpoint.tensors.push_back(std::move(tensor));
    return TensorSpan{static_cast<std::uint64_t>((*offsets)[0]), static_cast<std::uint64_t>((*offsets)[1]),
                      checkpoint.tensors.size() - 1};
}

}  // namespace

Result<Checkpoint> read_safetensors(const WeightFile& file) {
    std::uint64_t length = 0;
    for (std::size_t i = std::min(length_bytes, file.head.size()); i-- > 0;) {
        length = (length << 8U) | static_cast<unsigned char>(file.head[i]);
    }
    const std::string_view after = std::string_view(file.head).substr(std::min(length_bytes, file.head.size()));
    if (length > longest_header || !after.starts_with('{')) {
        return fail("unknown_file", "the file is neither safetensors nor GGUF",
                    "files of weights begin with a header of one of these formats");
    }
    if (length + length_bytes > file.size || after.size() < length) {
        return fail("cut_off",
                    fmt::format("the header takes {} bytes but the file has {}", length, file.size - length_bytes),
                    "was its download interrupted?");
    }
    auto root = parse_json(after.substr(0, length), file.name);
    if (!root) {
        Error error = root.error();
        error.message = fmt::format("in the header of {}: {}", file.name, error.message);
        return fail(std::move(error));
    }
    if (root->kind != FileValue::Kind::table)
        return fail("bad_tensor", "the header is not a table of tensors", "the file is damaged");
    Checkpoint checkpoint{file.name, "safetensors", 1, {}, {}};
    std::vector<TensorSpan> spans;
    for (const auto& [name, entry] : root->members) {
        if (name == "__metadata__") continue;
        ROOFLINE_TRY(auto span, read_tensor(name, entry, checkpoint));
        spans.push_back(span);
    }
    if (checkpoint.tensors.empty()) return fail("no_rows", "the file contains no tensors");
    ROOFLINE_CHECK(check_spans(checkpoint, std::move(spans), file.size - length_bytes - length, 1));
    return checkpoint;
}

}  // namespace roofline::core
