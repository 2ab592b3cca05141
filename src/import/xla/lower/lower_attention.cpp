// Fused attention of libraries as attention in the notation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "import/xla/cost/xla_backend_config.hpp"
#include "import/xla/lower/module_lowering.hpp"

namespace roofline::core {

namespace {

/// The sizes of fused attention, from the configuration of Transformer Engine or cuDNN; a size that it lacks is 0.
struct AttentionSizes {
    double batch = 0;
    double heads = 0;
    double groups = 0;  ///< heads of keys and values
    double queries = 0;
    double keys = 0;
    double width = 0;        ///< of queries and keys
    double value_width = 0;  ///< of values
    bool causal = false;
    double window = 0;  ///< keys that a query sees, of a causal mask with a sliding window; 0: all up to its own
    /// The dimensions of what is added to the scores, the last operand: letters as in AttentionText; "" for nothing.
    std::string bias;

    // cuDNN's has the shape of the scores; the rest follows from its operands.
    AttentionSizes(const std::string& config, const std::vector<Bound>& operands) {
        if (const auto scores = config_numbers(config, "dimensions")) {
            from_scores(*scores, operands);
            const auto mask = value_of_key(config, "mask_type");
            causal = mask && mask->find("CAUSAL") != std::string_view::npos;
            if (const auto band = config_number(config, "sliding_window_length"); band && *band >= 1) window = *band;
            return;
        }
        const auto whole = [&](std::string_view key) {
            const auto number = config_number(config, key);
            return number && *number >= 1 && *number < 1e12 ? *number : 0.0;
        };
        batch = whole("input_batch");
        heads = whole("attn_heads");
        groups = whole("num_gqa_groups");
        queries = whole("q_max_seqlen");
        keys = whole("kv_max_seqlen");
        width = whole("qk_head_dim");
        value_width = whole("v_head_dim");
        if (width == 0) width = value_width = whole("head_dim");
        // Its masks: 0 none, 1 padding, 2 causal, 3 padding and causal, 4 and 5 causal from the last key.
        causal = whole("mask_type") >= 2;
        window = whole("window");
        const std::string_view letters = value_of_key(config, "bias_dims").value_or("");
        for (const char c : letters) {
            if (std::string_view("bkgts").find(c) != std::string_view::npos) bias += c;
        }
    }

    void from_scores(const std::vector<std::int64_t>& scores, const std::vector<Bound>& operands) {
        constexpr std::size_t rank = 4;
        const bool whole = std::all_of(scores.begin(), scores.end(), [](std::int64_t size) { return size >= 1; });
        if (scores.size() != rank || !whole || operands.size() < 3) return;
        const auto elements = [&](std::size_t i) { return static_cast<double>(operands[i].shape.elements()); };
        batch = static_cast<double>(scores[0]);
        heads = static_cast<double>(scores[1]);
        queries = static_cast<double>(scores[2]);
        keys = static_cast<double>(scores[3]);
        width = std::floor(elements(0) / (batch * heads * queries));
        if (width >= 1) groups = std::floor(elements(1) / (batch * keys * width));
        if (groups >= 1) value_width = std::floor(elements(2) / (batch * keys * groups));
    }

    [[nodiscard]] bool known() const {
        const bool all = batch * heads * groups * queries * keys * width * value_width > 0;
        return all && static_cast<std::int64_t>(heads) % static_cast<std::int64_t>(groups) == 0;
    }
    [[nodiscard]] double of_bias() const {
        double all = 1;
        for (const char c : bias) {
            all *= c == 'b' ? batch : c == 'k' ? groups : c == 'g' ? heads / groups : c == 't' ? queries : keys;
        }
        return all;
    }
    [[nodiscard]] double of_queries() const { return batch * queries * heads * width; }
    [[nodiscard]] double of_keys() const { return batch * keys * groups * width; }
    [[nodiscard]] double of_values() const { return batch * keys * groups * value_width; }
    [[nodiscard]] double of_results() const { return batch * queries * heads * value_width; }
};

bool holds(const Bound& bound, double elements) {
    return bound.value && static_cast<double>(bound.shape.elements()) == elements;
}

// In how many arrays queries, keys and values lie: three, two (keys and values together) or one; 0 for anything else.
std::size_t arrays_of(const AttentionSizes& sizes, const std::vector<Bound>& operands) {
    const double packed = sizes.of_keys() + sizes.of_values();
    if (operands.empty()) return 0;
    if (holds(operands[0], sizes.of_queries() + packed) && sizes.queries == sizes.keys) return 1;
    if (operands.size() < 2 || !holds(operands[0], sizes.of_queries())) return 0;
    if (holds(operands[1], packed)) return 2;
    const bool apart =
        operands.size() > 2 && holds(operands[1], sizes.of_keys()) && holds(operands[2], sizes.of_values());
    return apart ? 3 : 0;
}

/// Writes attention in the notation, with names of dimensions that end in `suffix`: batch b, queries t, keys s, groups
/// k, heads of a group g, widths h and e.
class AttentionText {
public:
    AttentionText(const AttentionSizes& sizes, std::string type, std::string suffix)
        : sizes_(sizes), type_(std::move(type)), suffix_(std::move(suffix)) {}

    [[nodiscard]] std::string dims(std::string_view letters) const {
        std::string text;
        for (const char letter : letters) text += fmt::format("{}{}{}", text.empty() ? "" : ", ", letter, suffix_);
        return text;
    }
    [[nodiscard]] std::string declared(std::string_view name, std::string_view letters) const {
        return fmt::format("{} : {}[{}]", name, type_, dims(letters));
    }
    [[nodiscard]] std::string dim_sizes() const {
        std::string text = fmt::format("b{0}={1}, t{0}={2}, s{0}={3}, k{0}={4}, g{0}={5}, h{0}={6}, e{0}={7}", suffix_,
                                       sizes_.batch, sizes_.queries, sizes_.keys, sizes_.groups,
                                       sizes_.heads / sizes_.groups, sizes_.width, sizes_.value_width);
        if (windowed()) text += fmt::format(", w{}={}", suffix_, sizes_.window);
        return text + "\n";
    }
    [[nodiscard]] std::string masked(const std::string& scores) const {
        if (!sizes_.causal) return scores;
        return fmt::format("causal[{}]({})", dims(windowed() ? "tsw" : "ts"), scores);
    }
    [[nodiscard]] std::string probabilities() const {
        const std::string scores = fmt::format("Q *_h{} K{}", suffix_, sizes_.bias.empty() ? "" : " + M");
        return fmt::format("softmax[s{0}]({1})", suffix_, masked(scores));
    }
    // Tokens stand last in the scores, by which attention without a mask knows them from heads (head_dims()).
    [[nodiscard]] std::string forward() const {
        return fmt::format("{} = {}\n{} = P *_s{} V\n", declared("P", "bkgts"), probabilities(), declared("O", "btkge"),
                           suffix_);
    }
    // The scores again, and four more products. Nor is the gradient of masked scores computed.
    [[nodiscard]] std::string backward() const {
        std::string text = fmt::format("{} = {}\n", declared("P", "bkgts"), probabilities());
        text += fmt::format("{} = P *_{{{}}} G\n", declared("DV", "bske"), dims("gt"));
        text += fmt::format("{} = {}\n", declared("DP", "bkgts"), masked(fmt::format("G *_e{} V", suffix_)));
        text += fmt::format("{} = dsoftmax[s{}](P, DP)\n", declared("DS", "bkgts"), suffix_);
        text += fmt::format("{} = DS *_s{} K\n", declared("DQ", "btkgh"), suffix_);
        return text + fmt::format("{} = DS *_{{{}}} Q\n", declared("DK", "bskh"), dims("gt"));
    }
    // Declarations of queries, keys and values in so many arrays. Parts of one array are slices of it, which `slices`
    // gets, to be read inside the kernel.
    [[nodiscard]] std::string inputs(std::size_t arrays, const std::vector<Bound>& operands,
                                     std::map<std::string, Bound>& given, std::string& slices) const {
        const std::pair<std::string_view, std::string_view> parts[] = {{"Q", "btkgh"}, {"K", "bskh"}, {"V", "bske"}};
        std::string text;
        for (std::size_t i = 0; i < 3; ++i) {
            const std::string part = declared(parts[i].first, parts[i].second);
            const std::size_t holder = std::min(i, arrays - 1);
            if (arrays == 3 || (arrays == 2 && i == 0)) {
                text += part + "\n";
                given.emplace(parts[i].first, operands[holder]);
                continue;
            }
            slices += part + " = slice(Packed)\n";
            if (!given.emplace("Packed", operands[holder]).second) continue;
            text += fmt::format("Packed : {}[{}]\n", type_, operands[holder].shape.elements());
        }
        return text;
    }

private:
    [[nodiscard]] bool windowed() const { return sizes_.causal && sizes_.window > 0 && sizes_.window < sizes_.keys; }

    const AttentionSizes& sizes_;
    std::string type_;
    std::string suffix_;
};

}  // namespace

Result<Bound> ModuleLowering::attention(InstructionRef ref, const Bounds& given_operands, bool backward, Block& into) {
    const XlaInstruction& each = at(ref);
    Bounds operands;
    for (const Bound& one : given_operands) {  // the gradient of a sum is the same number everywhere
        operands.push_back(one.shape.elements() > 1 ? in_memory(ref, one, into) : one);
    }
    AttentionSizes sizes(plain_config(each), operands);
    const std::size_t arrays = sizes.known() ? arrays_of(sizes, operands) : 0;
    const Bound* gradient = nullptr;
    for (std::size_t i = arrays; i < operands.size(); ++i) {
        if (holds(operands[i], sizes.of_results())) gradient = &operands[i];
    }
    const bool several = each.shape.is_tuple();
    const std::size_t results = several ? each.shape.parts.size() : 1;
    if (arrays == 0 || (backward && (gradient == nullptr || !several || results < arrays))) {
        gap(ref, fmt::format("{} {}: the sizes of its attention are not given; the bytes of its operands count",
                             each.opcode, each.name));
        return opaque(ref, operands, "unknown", 0, into);
    }
    if (!sizes.bias.empty() && !holds(operands.back(), sizes.of_bias())) sizes.bias.clear();
    const AttentionText text(sizes, std::string(name(operands[0].shape.element->dtype)),
                             fmt::format("n{}", out_.program.values.size()));
    std::map<std::string, Bound> given;
    std::string slices;
    std::string program = text.dim_sizes() + text.inputs(arrays, operands, given, slices);
    if (!sizes.bias.empty()) {
        given.emplace("M", operands.back());
        program += text.declared("M", sizes.bias) + "\n";
    }
    if (backward) {
        given.emplace("G", *gradient);
        program += text.declared("G", "btkge") + "\n";
    }
    program += fmt::format("fuse {{\n{}{}}}\n", slices, backward ? text.backward() : text.forward());
    const std::vector<std::string> names =
        backward ? std::vector<std::string>{"DQ", "DK", "DV"} : std::vector<std::string>{"O"};
    ROOFLINE_TRY(const auto made, splice(ref, program, given, names, into));
    std::vector<Bound> parts;
    for (std::size_t i = 0; i < results; ++i) {
        Bound part;
        part.shape = several ? each.shape.parts[i] : each.shape;
        // Packed gradients are one array; that of the queries stands for it.
        const bool computed = i < (backward ? arrays : 1);
        if (computed) part.value = made[std::min(i, made.size() - 1)];
        // Statistics of the rows for the backward pass, the state of the random numbers, workspace.
        if (!computed && part.shape.is_array()) part = input(part.shape, each.name, ref);
        parts.push_back(std::move(part));
    }
    return several ? tuple(std::move(parts), each.shape) : parts.front();
}

}  // namespace roofline::core
