#include "import/xla/proto/hlo_proto_instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/proto/hlo_proto_parts.hpp"

namespace roofline::core {

namespace {

/// What fields of an instruction become together, once all are known.
struct InstructionDraft {
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> slice_sizes;
    std::vector<std::int64_t> dynamic_slice_sizes;
    std::vector<std::int64_t> fft_length;
    std::vector<std::string> slices;
    std::vector<std::string> groups;
    std::vector<std::string> pairs;
    std::int64_t parameter = 0;
    std::int64_t tuple_index = 0;
    std::int64_t delta = 0;
    std::string literal = "{...}";
};

class InstructionReader {
public:
    InstructionReader(ProtoFile& file, std::deque<std::string>& spoken) : file_(file), spoken_(spoken) {}

    Result<HloProtoInstruction> read(ProtoMessage message, std::size_t offset) {
        made().offset = offset;
        ProtoMessage literal = message;
        bool has_literal = false;
        while (message.next()) {
            if (message.field() == 3) {
                ROOFLINE_TRY(made().shape, read_shape_proto(file_, message.message(), message.offset()));
            } else if (message.field() == 8) {
                literal = message.message();
                has_literal = true;
            } else {
                read_field(message);
            }
        }
        ROOFLINE_CHECK(file_.status());
        if (made().name.empty() || made().opcode.empty()) {
            return file_.fail_at(offset, "bad_hlo",
                                 fmt::format("an instruction has no {}", made().name.empty() ? "name" : "opcode"));
        }
        if (has_literal) draft_.literal = literal_of_proto(literal, made().shape);
        finish();
        ROOFLINE_CHECK(file_.status());
        return std::move(out_);
    }

private:
    XlaInstruction& made() { return out_.made; }
    std::string_view keep(std::string text) { return spoken_.emplace_back(std::move(text)); }
    void add(std::string_view key, std::string_view value) { made().attributes.push_back({key, value}); }
    void add_text(std::string_view key, std::string value) { add(key, keep(std::move(value))); }
    void add_list(std::string_view key, const std::vector<std::int64_t>& numbers) {
        if (!numbers.empty()) add_text(key, braced_numbers(numbers));
    }
    void add_flag(std::string_view key, bool value) {
        if (value) add(key, "true");
    }
    void add_number(std::string_view key, std::int64_t number, std::int64_t usual) {
        if (number != usual) add_text(key, fmt::format("{}", number));
    }
    // Attributes of messages whose fields are lists and numbers.
    struct ListField {
        std::uint32_t field = 0;
        std::string_view key;
        bool number = false;  ///< one number rather than a list
    };
    template <std::size_t N>
    void add_lists(ProtoMessage message, const ListField (&fields)[N]) {
        std::vector<std::int64_t> values[N];
        while (message.next()) {
            for (std::size_t i = 0; i < N; ++i) {
                if (fields[i].field == message.field()) message.add_integers(values[i]);
            }
        }
        for (std::size_t i = 0; i < N; ++i) {
            if (fields[i].number) {
                add_text(fields[i].key, fmt::format("{}", values[i].empty() ? 0 : values[i].back()));
            } else {
                add_list(fields[i].key, values[i]);
            }
        }
    }

    void read_field(ProtoMessage& at) {
        switch (at.field()) {
            case 1:
                made().name = readable(at.bytes(), spoken_);
                break;
            case 2:
                made().opcode = readable(at.bytes(), spoken_);
                break;
            case 7:
                read_metadata_proto(at.message());
                break;
            case 9:
                draft_.parameter = at.integer();
                break;
            case 11:
                add("kind", readable(at.bytes(), spoken_));
                break;
            case 13:
                draft_.tuple_index = at.integer();
                break;
            case 14:
                at.add_integers(draft_.dims);
                break;
            case 35:
                out_.id = at.integer();
                break;
            case 36:
                at.add_integers(out_.operands);
                break;
            case 38:
                at.add_integers(out_.called);
                break;
            case 40:
                add_text("sharding", sharding_of_proto(at.message()));
                break;
            case 43:
                add_config(at.bytes());
                break;
            default:
                if (!read_window_field(at) && !read_collective_field(at)) read_other_field(at);
        }
    }

    // Windows, matmuls, convolutions, slices and gathers.
    bool read_window_field(ProtoMessage& at) {
        switch (at.field()) {
            case 15:
                if (std::string window = window_of_proto(at.message()); window != "{}") {
                    add_text("window", std::move(window));
                }
                return true;
            case 16:
                add_text("dim_labels", dim_labels_of_proto(at.message()));
                return true;
            case 17: {
                std::int64_t numbers[4] = {0, 0, 0, 1};
                for (ProtoMessage slice = at.message(); slice.next();) {
                    if (slice.field() >= 1 && slice.field() <= 3) numbers[slice.field()] = slice.integer();
                }
                draft_.slices.push_back(numbers[3] == 1
                                            ? fmt::format("[{}:{}]", numbers[1], numbers[2])
                                            : fmt::format("[{}:{}:{}]", numbers[1], numbers[2], numbers[3]));
                return true;
            }
            case 20:
                at.add_integers(draft_.dynamic_slice_sizes);
                return true;
            case 21:
                add_text("padding", padding(at.message()));
                return true;
            case 30:
                add_dot(at.message());
                return true;
            case 90: {
                std::vector<std::int64_t> ragged;
                std::vector<std::int64_t> groups;
                for (ProtoMessage dims = at.message(); dims.next();) {
                    if (dims.field() == 1) add_dot(dims.message());
                    if (dims.field() == 2) dims.add_integers(ragged);
                    if (dims.field() == 3) dims.add_integers(groups);
                }
                add_list("lhs_ragged_dims", ragged);
                add_list("rhs_group_dims", groups);
                return true;
            }
            case 33:
                add_lists(at.message(), {{1, "offset_dims"},
                                         {2, "collapsed_slice_dims"},
                                         {3, "start_index_map"},
                                         {5, "operand_batching_dims"},
                                         {6, "start_indices_batching_dims"},
                                         {4, "index_vector_dim", true}});
                return true;
            case 34:
                at.add_integers(draft_.slice_sizes);
                return true;
            case 48:
                add_lists(at.message(), {{1, "update_window_dims"},
                                         {2, "inserted_window_dims"},
                                         {3, "scatter_dims_to_operand_dims"},
                                         {5, "input_batching_dims"},
                                         {6, "scatter_indices_batching_dims"},
                                         {4, "index_vector_dim", true}});
                return true;
            case 50:
                add_number("feature_group_count", std::max<std::int64_t>(at.integer(), 1), 1);
                return true;
            case 58:
                add_number("batch_group_count", std::max<std::int64_t>(at.integer(), 1), 1);
                return true;
            default:
                return false;
        }
    }

    bool read_collective_field(ProtoMessage& at) {
        switch (at.field()) {
            case 26:
                if (const std::int64_t channel = at.integer(); channel > 0) add_number("channel_id", channel, 0);
                return true;
            case 49:
                draft_.groups.push_back(replica_group_of_proto(at.message()));
                return true;
            case 52: {
                std::int64_t ends[3] = {0, 0, 0};
                for (ProtoMessage pair = at.message(); pair.next();) {
                    if (pair.field() == 1 || pair.field() == 2) ends[pair.field()] = pair.integer();
                }
                draft_.pairs.push_back(fmt::format("{{{},{}}}", ends[1], ends[2]));
                return true;
            }
            case 71:
                add_flag("use_global_device_ids", at.flag());
                return true;
            case 87: {
                std::vector<std::string> listed;
                for (ProtoMessage list = at.message(); list.next();) {
                    if (list.field() == 1) listed.push_back(replica_group_of_proto(list.message()));
                    if (list.field() == 2) add_text("replica_groups", iota_groups_of_proto(list.message()));
                    if (list.field() == 3) add_text("replica_groups", mesh_groups_of_proto(list.message()));
                }
                // Older versions write the list into field 49, too.
                if (!listed.empty()) draft_.groups = std::move(listed);
                return true;
            }
            case 92:
                add_text("replica_groups", iota_groups_of_proto(at.message()));
                return true;
            case 93:
                add_text("replica_groups", mesh_groups_of_proto(at.message()));
                return true;
            case 47:
                add_flag("is_host_transfer", at.flag());
                return true;
            default:
                return false;
        }
    }

    void read_other_field(ProtoMessage& at) {
        switch (at.field()) {
            case 18:
                add_number("exponent_bits", at.integer(), -1);
                break;
            case 19:
                add_number("mantissa_bits", at.integer(), -1);
                break;
            case 28:
                add_text("custom_call_target", quoted_bytes(at.bytes()));
                break;
            case 31: {
                constexpr std::string_view kinds[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
                fft_ = kinds[std::clamp<std::int64_t>(at.integer(), 0, 3)];
                break;
            }
            case 32:
                at.add_integers(draft_.fft_length);
                break;
            case 51:
                add_precision(at.message());
                break;
            case 60:
                add_flag("is_stable", at.flag());
                break;
            case 63:
                add("direction", readable(at.bytes(), spoken_));
                break;
            case 65:
                add_flag("custom_call_has_side_effect", at.flag());
                break;
            case 66:
                draft_.delta = at.integer();
                break;
            case 67:
                add_flag("indices_are_sorted", at.flag());
                break;
            case 68:
                if (std::string text = frontend_attributes_of_proto(at.message()); text != "{}") {
                    add_text("frontend_attributes", std::move(text));
                }
                break;
            case 69:
                add_flag("unique_indices", at.flag());
                break;
            case 70: {
                constexpr std::string_view algorithms[] = {"rng_default", "rng_three_fry", "rng_philox"};
                add("algorithm", algorithms[std::clamp<std::int64_t>(at.integer(), 0, 2)]);
                break;
            }
            case 72:  // the other types follow from the operands
                if (at.bytes() == "TOTALORDER") add("type", "TOTALORDER");
                break;
            case 79:
                add("async_execution_thread", readable(at.bytes(), spoken_));
                break;
            case 81:
                add_number("k", at.integer(), 0);
                break;
            case 85:
                add_flag("largest", at.flag());
                break;
            case 89:
                add_flag("is_composite", at.flag());
                break;
            default:
                break;
        }
    }

    void read_metadata_proto(ProtoMessage at) {
        XlaOrigin& origin = made().origin;
        while (at.next()) {
            if (at.field() == 2) origin.op_name = readable(at.bytes(), spoken_);
            if (at.field() == 3) origin.file = readable(at.bytes(), spoken_);
            if (at.field() == 4) origin.line = static_cast<int>(std::clamp<std::int64_t>(at.integer(), 0, 1 << 30));
            if (at.field() == 15) out_.frame = at.integer();
        }
    }

    void add_dot(ProtoMessage at) {
        add_lists(
            at,
            {{3, "lhs_batch_dims"}, {1, "lhs_contracting_dims"}, {4, "rhs_batch_dims"}, {2, "rhs_contracting_dims"}});
    }

    void add_precision(ProtoMessage at) {
        constexpr std::string_view names[] = {"default", "high", "highest"};
        constexpr std::string_view algorithms[] = {"",
                                                   "dot_any_f8_any_f8_f32",
                                                   "dot_any_f8_any_f8_f32_fast_accum",
                                                   "dot_f16_f16_f16",
                                                   "dot_f16_f16_f32",
                                                   "dot_bf16_bf16_bf16",
                                                   "dot_bf16_bf16_f32",
                                                   "dot_bf16_bf16_f32_x3",
                                                   "dot_bf16_bf16_f32_x6",
                                                   "dot_tf32_tf32_f32",
                                                   "dot_tf32_tf32_f32_x3",
                                                   "dot_f32_f32_f32",
                                                   "dot_f64_f64_f64",
                                                   "dot_bf16_bf16_f32_x9"};
        std::vector<std::int64_t> precisions;
        std::int64_t algorithm = 0;
        while (at.next()) {
            if (at.field() == 1) at.add_integers(precisions);
            if (at.field() == 2) algorithm = at.integer();
        }
        if (std::any_of(precisions.begin(), precisions.end(), [](std::int64_t each) { return each != 0; })) {
            std::vector<std::string_view> words;
            for (const std::int64_t each : precisions) words.push_back(names[std::clamp<std::int64_t>(each, 0, 2)]);
            add_text("operand_precision", fmt::format("{{{}}}", fmt::join(words, ",")));
        }
        if (algorithm > 0 && static_cast<std::size_t>(algorithm) < std::size(algorithms)) {
            add("algorithm", algorithms[algorithm]);
        }
    }

    static std::string padding(ProtoMessage at) {
        std::vector<std::string> dims;
        while (at.next()) {
            if (at.field() != 1) continue;
            std::int64_t numbers[4] = {0, 0, 0, 0};
            for (ProtoMessage dim = at.message(); dim.next();) {
                if (dim.field() >= 1 && dim.field() <= 3) numbers[dim.field()] = dim.integer();
            }
            dims.push_back(numbers[3] == 0 ? fmt::format("{}_{}", numbers[1], numbers[2])
                                           : fmt::format("{}_{}_{}", numbers[1], numbers[2], numbers[3]));
        }
        return fmt::format("{}", fmt::join(dims, "x"));
    }

    // JSON stands in the text as it is, anything else in quotation marks.
    void add_config(std::string_view config) {
        if (config.empty()) return;
        const bool json = config.starts_with('{') && config.ends_with('}');
        add_text("backend_config", json ? std::string(readable(config, spoken_)) : quoted_bytes(config));
    }

    void finish() {
        const std::string_view opcode = made().opcode;
        if (opcode == "parameter") made().literal = keep(fmt::format("{}", draft_.parameter));
        if (opcode == "constant") made().literal = keep(std::move(draft_.literal));
        if (opcode == "get-tuple-element") add_text("index", fmt::format("{}", draft_.tuple_index));
        if (opcode == "rng-get-and-update-state") add_text("delta", fmt::format("{}", draft_.delta));
        if (opcode == "iota") {
            if (!draft_.dims.empty()) add_text("iota_dimension", fmt::format("{}", draft_.dims.front()));
        } else if (opcode == "broadcast") {
            add_text("dimensions", braced_numbers(draft_.dims));  // of a number they are {}
        } else {
            add_list("dimensions", draft_.dims);
        }
        if (opcode == "fft") {
            add("fft_type", fft_);
            add_list("fft_length", draft_.fft_length);
        }
        add_list("dynamic_slice_sizes", draft_.dynamic_slice_sizes);
        if (opcode == "gather") add_text("slice_sizes", braced_numbers(draft_.slice_sizes));
        if (!draft_.slices.empty()) add_text("slice", fmt::format("{{{}}}", fmt::join(draft_.slices, ", ")));
        if (!draft_.pairs.empty()) {
            add_text("source_target_pairs", fmt::format("{{{}}}", fmt::join(draft_.pairs, ",")));
        }
        const bool grouped = made().attribute("replica_groups").has_value();
        if (!grouped &&
            (!draft_.groups.empty() || opcode.starts_with("all-") || opcode.starts_with("reduce-scatter"))) {
            add_text("replica_groups", fmt::format("{{{}}}", fmt::join(draft_.groups, ",")));
        }
        // XLA keeps the body of a loop before its condition.
        if (opcode == "while" && out_.called.size() == 2) std::swap(out_.called[0], out_.called[1]);
    }

    ProtoFile& file_;
    std::deque<std::string>& spoken_;
    HloProtoInstruction out_;
    InstructionDraft draft_;
    std::string_view fft_ = "FFT";
};

// Bytes of the UTF-8 character at the front, or 0 if there is none that people can read.
std::size_t readable_character(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x80U) return first >= 0x20U && first != 0x7FU ? 1 : 0;
    const std::size_t length = first >= 0xF0U && first < 0xF5U ? 4 : first >= 0xE0U ? 3 : first >= 0xC2U ? 2 : 0;
    if (length == 0 || first >= 0xF5U || length > text.size()) return 0;
    std::uint32_t code = first & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte & 0xC0U) != 0x80U) return 0;
        code = (code << 6U) | (byte & 0x3FU);
    }
    const bool too_long = (length == 3 && code < 0x800U) || (length == 4 && (code < 0x10000U || code > 0x10FFFFU));
    return too_long || code < 0xA0U || (code >= 0xD800U && code < 0xE000U) ? 0 : length;
}

}  // namespace

std::string_view readable(std::string_view text, std::deque<std::string>& spoken) {
    std::string replaced;
    bool wrong = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = readable_character(text.substr(at));
        if (length == 0 && !wrong) {
            wrong = true;
            replaced = text.substr(0, at);
        }
        if (wrong) replaced += length == 0 ? std::string_view("?") : text.substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    return wrong ? std::string_view(spoken.emplace_back(std::move(replaced))) : text;
}

Result<HloProtoInstruction> read_instruction_proto(ProtoFile& file, ProtoMessage message, std::size_t offset,
                                                   std::deque<std::string>& spoken) {
    return InstructionReader(file, spoken).read(message, offset);
}

}  // namespace roofline::core
