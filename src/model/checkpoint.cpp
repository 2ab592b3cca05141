#include "model/checkpoint.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

struct PartWord {
    std::string_view part;
    std::string_view word;
    bool whole;  ///< it must be everything between two dots, not a part of it
};

// The first match counts, so specific words come first: the norm of an expert is a norm, the router of experts a
// router.
constexpr std::array part_words{
    PartWord{"vision", "vision", false},
    PartWord{"vision", "visual", true},
    PartWord{"vision", "multi_modal_projector", true},
    PartWord{"vision", "mm_projector", true},
    PartWord{"vision", "audio_tower", true},
    PartWord{"mtp", "mtp", true},
    PartWord{"mtp", "eh_proj", true},
    PartWord{"mtp", "enorm", true},
    PartWord{"mtp", "hnorm", true},
    PartWord{"norm", "norm", false},
    PartWord{"norm", "ln_", false},
    PartWord{"norm", "_ln", false},
    PartWord{"router", "router", false},
    PartWord{"router", "gate_inp", false},
    PartWord{"router", "exp_probs_b", false},
    PartWord{"router", "gate", true},
    PartWord{"experts", "expert", false},
    PartWord{"experts", "exps", false},
    PartWord{"experts", "shexp", false},
    PartWord{"mixer", "mamba", false},
    PartWord{"mixer", "mixer", false},
    PartWord{"mixer", "ssm", false},
    PartWord{"mixer", "linear_attn", false},
    PartWord{"attention", "attn", false},
    PartWord{"attention", "attention", false},
    PartWord{"mlp", "mlp", false},
    PartWord{"mlp", "ffn", false},
    PartWord{"mlp", "feed_forward", false},
    PartWord{"mlp", "fc1", true},
    PartWord{"mlp", "fc2", true},
    PartWord{"head", "lm_head", true},
    PartWord{"head", "embed_out", true},
    PartWord{"head", "output", true},
    PartWord{"embedding", "embd", false},
    PartWord{"embedding", "embed", false},
    PartWord{"embedding", "wte", true},
    PartWord{"embedding", "wpe", true},
};

bool has_word(std::string_view name, const PartWord& word) {
    for (std::size_t at = name.find(word.word); at != std::string_view::npos; at = name.find(word.word, at + 1)) {
        if (!word.whole) return true;
        const std::size_t end = at + word.word.size();
        if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return true;
    }
    return false;
}

bool is_scale(std::string_view name) {
    constexpr std::array<std::string_view, 14> endings{
        "_scale", "_scale_inv", "_scale_2",    "_scales", ".scale",     ".scales",       ".qzeros",
        ".g_idx", ".SCB",       "_zero_point", ".absmax", ".quant_map", "_blocks_scale", ".weight_format"};
    return name.find(".quant_state.") != std::string_view::npos || name.find(".absmax.") != std::string_view::npos ||
           std::any_of(endings.begin(), endings.end(), [&](std::string_view end) { return name.ends_with(end); });
}

bool is_number(std::string_view piece) {
    constexpr std::size_t longest = 9;
    return !piece.empty() && piece.size() <= longest && std::all_of(piece.begin(), piece.end(), is_digit);
}

/// Calls `visit(piece)` for each piece of a name between dots.
template <class Visit>
void each_piece(std::string_view name, Visit visit) {
    while (true) {
        const std::size_t dot = name.find('.');
        visit(name.substr(0, dot));
        if (dot == std::string_view::npos) return;
        name.remove_prefix(dot + 1);
    }
}

}  // namespace

TensorUse use_of(const StoredTensor& tensor) {
    if (is_scale(tensor.name)) return TensorUse::scale;
    constexpr std::array<std::string_view, 3> counted{"i64", "u64", "bool"};
    constexpr std::array<std::string_view, 5> packing{"u8", "i16", "u16", "i32", "u32"};
    const std::string_view dtype = tensor.dtype;
    if (std::find(counted.begin(), counted.end(), dtype) != counted.end()) return TensorUse::buffer;
    if (std::find(packing.begin(), packing.end(), dtype) != packing.end()) return TensorUse::packed;
    return TensorUse::parameter;
}

std::string part_of_tensor(const StoredTensor& tensor) {
    const TensorUse use = use_of(tensor);
    if (use == TensorUse::scale) return "scales";
    if (use == TensorUse::buffer) return "buffers";
    const std::string name = lowered(tensor.name);
    const auto found =
        std::find_if(part_words.begin(), part_words.end(), [&](const PartWord& word) { return has_word(name, word); });
    return found == part_words.end() ? "other" : std::string(found->part);
}

std::optional<std::int64_t> layer_of_tensor(std::string_view name) {
    std::optional<std::int64_t> layer;
    each_piece(name, [&](std::string_view piece) {
        if (layer || !is_number(piece)) return;
        std::int64_t value = 0;
        for (const char digit : piece) value = value * 10 + (digit - '0');
        layer = value;
    });
    return layer;
}

std::string name_in_layer(std::string_view name) {
    const bool layered = layer_of_tensor(name).has_value();
    bool inside = !layered;
    std::string out;
    each_piece(name, [&](std::string_view piece) {
        const bool number = is_number(piece);
        if (!inside) {
            inside = number;
            return;
        }
        if (!out.empty()) out += '.';
        out += number ? "*" : std::string(piece);
    });
    return out;
}

void StoredShare::add(const StoredTensor& tensor) {
    ++tensors;
    elements += tensor.elements;
    bytes += tensor.bytes;
    if (use_of(tensor) == TensorUse::parameter) params += tensor.elements;
}

CheckpointSums sums_of(const Checkpoint& checkpoint) {
    CheckpointSums sums;
    for (const StoredTensor& tensor : checkpoint.tensors) {
        const std::string part = part_of_tensor(tensor);
        sums.total.add(tensor);
        sums.by_dtype[tensor.dtype].add(tensor);
        sums.by_part[part].add(tensor);
        const auto layer = layer_of_tensor(tensor.name);
        if (layer && part != "vision") sums.by_layer[*layer].add(tensor);
        if (use_of(tensor) == TensorUse::packed) ++sums.packed;
    }
    return sums;
}

}  // namespace roofline::core
