#include "import/weight_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "text/json.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 60;

bool is_gguf(std::string_view head) { return head.starts_with("GGUF"); }

std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(bytes[i]);
    return value;
}

/// The tensors of an index and the file of each.
Result<std::vector<std::pair<std::string, std::string>>> weight_map(const FileValue& root) {
    const FileValue* map = root.find("weight_map");
    if (map == nullptr || map->kind != FileValue::Kind::table || map->members.empty()) {
        return fail("bad_index", "the index has no `weight_map`",
                    "in model.safetensors.index.json it maps tensors to files");
    }
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto& [tensor, file] : map->members) {
        const bool plain = file.kind == FileValue::Kind::text && is_weight_file(file.text) &&
                           file.text.find_first_of("/\\") == std::string::npos && file.text.front() != '.';
        if (!plain) {
            return fail("bad_index",
                        fmt::format("the index does not map {} to a file in the same folder", in_ticks(tensor)),
                        "file names have no folder and end in .safetensors");
        }
        entries.emplace_back(tensor, file.text);
    }
    return entries;
}

}  // namespace

bool is_weight_file(std::string_view name) { return name.ends_with(".safetensors") || name.ends_with(".gguf"); }

bool is_weight_index(std::string_view name) { return name.ends_with(".safetensors.index.json"); }

std::uint64_t wanted_head(std::string_view head, std::uint64_t size) {
    constexpr std::uint64_t first = 1U << 16U;
    std::uint64_t wanted = head.size();
    if (head.size() < 8) {
        wanted = first;
    } else if (!is_gguf(head)) {
        wanted = std::min(little_endian(head.substr(0, 8)), longest_header) + 8;
    } else {
        // The length of the header is known only after parsing.
        auto read = read_gguf({"", std::string(head), size});
        if (!read && read.error().code == "needs_more") wanted = std::uint64_t{head.size()} * 4;
    }
    return std::min({wanted, size, longest_header + 8});
}

Status measure_tensor(StoredTensor& tensor, const BlockSize& block) {
    const auto wrong = [&](std::string_view what) {
        return fail("bad_tensor", fmt::format("tensor {} {}", in_ticks(tensor.name), what), "the file is damaged");
    };
    constexpr std::size_t longest_name = 1000;
    for (std::string_view rest = tensor.name; !rest.empty();) {
        const CodePoint code = decode_utf8(rest);
        if (!code.valid || is_control(code) || tensor.name.size() > longest_name)
            return wrong("has a name with unprintable characters");
        rest.remove_prefix(code.length);
    }
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.shape) {
        if (size < 0) return wrong("has a negative size");
        if (__builtin_mul_overflow(elements, size, &elements)) return wrong("is larger than any memory");
    }
    if (!tensor.shape.empty() && tensor.shape.back() % block.elements != 0) {
        return wrong(fmt::format("does not consist of whole blocks of {} elements", block.elements));
    }
    const std::int64_t blocks = elements / block.elements;
    std::int64_t bits = 0;
    if (__builtin_mul_overflow(blocks, block.bits, &bits) || bits > most) return wrong("is larger than any memory");
    if (bits % 8 != 0) return wrong("does not end at a byte boundary");
    tensor.elements = elements;
    tensor.bytes = bits / 8;
    return {};
}

Status check_spans(Checkpoint& checkpoint, std::vector<TensorSpan> spans, std::uint64_t room, std::uint64_t alignment) {
    std::sort(spans.begin(), spans.end(), [](const TensorSpan& a, const TensorSpan& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    const auto name = [&](const TensorSpan& span) { return in_ticks(checkpoint.tensors[span.tensor].name); };
    std::uint64_t at = 0;
    for (const TensorSpan& span : spans) {
        if (span.begin < at) {
            return fail("bad_tensor", fmt::format("tensor {} overlaps the previous one", name(span)),
                        "the file is damaged");
        }
        if (span.begin - at >= alignment) {
            return fail("bad_tensor",
                        fmt::format("there is a gap of {} bytes before tensor {}", span.begin - at, name(span)),
                        "the file is damaged");
        }
        at = span.end;
    }
    if (at > static_cast<std::uint64_t>(most)) return fail("bad_tensor", "the tensors are larger than any memory");
    if (room == 0 && at > 0) {
        checkpoint.notes.emplace_back("the file contains only its header; the sizes are those that the header states");
        return {};
    }
    if (at > room) {
        return fail("cut_off", fmt::format("the tensors take {} bytes but the file has {} for them", at, room),
                    "was its download interrupted?");
    }
    if (room - at >= alignment) {
        return fail("bad_tensor", fmt::format("the file has {} more bytes after its last tensor", room - at),
                    "the file is damaged");
    }
    return {};
}

Result<Checkpoint> read_weight_file(const WeightFile& file) {
    if (file.size < 8) {
        return fail("cut_off", fmt::format("{} has only {} bytes", file.name, file.size),
                    "was its download interrupted?");
    }
    if (file.head.starts_with("version https://git-lfs")) {
        return fail("not_here", fmt::format("{} is only a git-lfs pointer to the file", file.name),
                    "fetch the file with `git lfs pull`");
    }
    auto read = is_gguf(file.head) ? read_gguf(file) : read_safetensors(file);
    if (read) return read;
    Error error = read.error();
    if (!error.place) error.message = fmt::format("{}: {}", file.name, error.message);
    return fail(std::move(error));
}

Result<std::vector<std::string>> shard_names(std::string_view index, std::string_view name) {
    ROOFLINE_TRY(auto root, parse_json(index, name));
    ROOFLINE_TRY(auto entries, weight_map(root));
    std::set<std::string> names;
    for (auto& entry : entries) names.insert(std::move(entry.second));
    return std::vector<std::string>(names.begin(), names.end());
}

Result<Checkpoint> read_shards(std::string_view index, std::string_view name, const std::vector<WeightFile>& shards) {
    ROOFLINE_TRY(auto root, parse_json(index, name));
    ROOFLINE_TRY(auto entries, weight_map(root));
    std::map<std::string, std::string> places(entries.begin(), entries.end());
    Checkpoint all{std::string(name), "safetensors", shards.size(), {}, {}};
    std::int64_t bytes = 0;
    for (const WeightFile& shard : shards) {
        ROOFLINE_TRY(auto one, read_weight_file(shard));
        const std::string file = shard.name.substr(shard.name.find_last_of("/\\") + 1);
        for (StoredTensor& tensor : one.tensors) {
            const auto place = places.find(tensor.name);
            if (place == places.end() || place->second != file) {
                return fail("bad_index",
                            fmt::format("{} contains {}, which the index does not map to it", shard.name,
                                        in_ticks(tensor.name)),
                            "the index and the files belong to different versions");
            }
            places.erase(place);
            if (__builtin_add_overflow(bytes, tensor.bytes, &bytes) || bytes > most) {
                return fail("bad_tensor", "the tensors are larger than any memory");
            }
            all.tensors.push_back(std::move(tensor));
        }
        for (const std::string& note : one.notes) {
            if (std::find(all.notes.begin(), all.notes.end(), note) == all.notes.end()) all.notes.push_back(note);
        }
    }
    if (!places.empty()) {
        return fail("bad_index",
                    fmt::format("the index maps {} to {}, which does not contain it", in_ticks(places.begin()->first),
                                places.begin()->second),
                    "the index and the files belong to different versions");
    }
    const FileValue* metadata = root.find("metadata");
    const FileValue* said = metadata == nullptr ? nullptr : metadata->find("total_size");
    if (said != nullptr && said->is_number() && said->real != static_cast<double>(bytes)) {
        all.notes.push_back(fmt::format("the index states {:.0f} bytes for all tensors, but their headers state {}",
                                        said->real, bytes));
    }
    return all;
}

}  // namespace roofline::core
