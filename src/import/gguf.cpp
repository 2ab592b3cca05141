// Reads GGUF, versions 2 and 3: keys and values, then an entry for each tensor, then the tensors at multiples of an
// alignment.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "base/ascii.hpp"
#include "import/gguf.hpp"

namespace roofline::core {

namespace {

constexpr std::uint64_t max_entries = 1'000'000;
constexpr int deepest = 4;

/// Block layout of a type, from ggml's tables.
struct GgufType {
    std::uint32_t id;
    std::string_view word;
    std::int64_t elements;  ///< per block
    std::int64_t bytes;     ///< per block
};

constexpr std::array gguf_types{
    GgufType{0, "f32", 1, 4},         GgufType{1, "f16", 1, 2},         GgufType{2, "q4_0", 32, 18},
    GgufType{3, "q4_1", 32, 20},      GgufType{6, "q5_0", 32, 22},      GgufType{7, "q5_1", 32, 24},
    GgufType{8, "q8_0", 32, 34},      GgufType{9, "q8_1", 32, 36},      GgufType{10, "q2_k", 256, 84},
    GgufType{11, "q3_k", 256, 110},   GgufType{12, "q4_k", 256, 144},   GgufType{13, "q5_k", 256, 176},
    GgufType{14, "q6_k", 256, 210},   GgufType{15, "q8_k", 256, 292},   GgufType{16, "iq2_xxs", 256, 66},
    GgufType{17, "iq2_xs", 256, 74},  GgufType{18, "iq3_xxs", 256, 98}, GgufType{19, "iq1_s", 256, 50},
    GgufType{20, "iq4_nl", 32, 18},   GgufType{21, "iq3_s", 256, 110},  GgufType{22, "iq2_s", 256, 82},
    GgufType{23, "iq4_xs", 256, 136}, GgufType{24, "i8", 1, 1},         GgufType{25, "i16", 1, 2},
    GgufType{26, "i32", 1, 4},        GgufType{27, "i64", 1, 8},        GgufType{28, "f64", 1, 8},
    GgufType{29, "iq1_m", 256, 56},   GgufType{30, "bf16", 1, 2},       GgufType{34, "tq1_0", 256, 54},
    GgufType{35, "tq2_0", 256, 66},   GgufType{39, "mxfp4", 32, 17},
};

constexpr std::uint32_t text_value = 8;
constexpr std::uint32_t list_value = 9;
constexpr std::array<std::uint64_t, 13> value_bytes{1, 1, 2, 2, 4, 4, 4,
                                                    1, 0, 0, 8, 8, 8};  // by kind of value; 0: no fixed size

class GgufReader {
public:
    explicit GgufReader(const WeightFile& file) : file_(file), head_(file.head) {}

    Result<Checkpoint> run() {
        ROOFLINE_CHECK(read());
        const std::uint64_t begin = (at_ + alignment_ - 1) / alignment_ * alignment_;
        const std::uint64_t room = file_.size > begin ? file_.size - begin : 0;
        ROOFLINE_CHECK(check_spans(checkpoint_, std::move(spans_), room, alignment_));
        return std::move(checkpoint_);
    }

    Result<GgufHeader> header() {
        values_.kind = FileValue::Kind::table;
        keeps_values_ = true;
        ROOFLINE_CHECK(read());
        return GgufHeader{std::move(checkpoint_), std::move(values_)};
    }

private:
    Status read() {
        skip(4);
        const std::uint64_t version = number(4);
        if (version != 2 && version != 3) {
            return fail("unknown_file", fmt::format("GGUF version {} is not supported", version),
                        (version & 0xFFFFU) == 0 ? "the file was written for machines with the other byte order"
                                                 : "versions 2 and 3 are supported");
        }
        const std::uint64_t tensors = number(8);
        const std::uint64_t values = number(8);
        if (tensors > max_entries || values > max_entries) {
            return bad(fmt::format("the header claims {} tensors and {} values", tensors, values));
        }
        for (std::uint64_t i = 0; i < values && good(); ++i) value();
        for (std::uint64_t i = 0; i < tensors && good(); ++i) {
            ROOFLINE_CHECK(tensor());
        }
        if (!good()) return fail(error_);
        if (checkpoint_.tensors.empty()) return fail("no_rows", "the file contains no tensors");
        return {};
    }

    static tl::unexpected<Error> bad(std::string message) {
        return fail("bad_tensor", std::move(message), "the file is damaged");
    }
    [[nodiscard]] bool good() const { return error_.code.empty(); }

    void refuse(std::string code, std::string message, std::string hint) {
        if (good()) error_ = Error{std::move(code), std::move(message), std::move(hint), {}};
    }

    // The next `size` bytes; empty if the header ends before.
    std::string_view take(std::uint64_t size) {
        if (!good()) return {};
        if (size > head_.size() - at_) {
            if (size > file_.size - std::min<std::uint64_t>(at_, file_.size)) {
                refuse("cut_off", "the file ends in its header", "was its download interrupted?");
            } else {
                refuse("needs_more", "the header is longer than 100 MB", "the limit is 100 MB");
            }
            return {};
        }
        const std::string_view bytes = head_.substr(at_, static_cast<std::size_t>(size));
        at_ += static_cast<std::size_t>(size);
        return bytes;
    }
    void skip(std::uint64_t size) { static_cast<void>(take(size)); }
    std::uint64_t number(std::uint64_t size) {
        const std::string_view bytes = take(size);
        std::uint64_t value = 0;
        for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(bytes[i]);
        return value;
    }
    std::string_view text() { return take(number(8)); }

    void value() {
        const std::string_view key = text();
        const std::uint64_t kind = number(4);
        if (key == "general.alignment" && kind == 4) {
            alignment_ = number(4);
            if (alignment_ == 0 || alignment_ > 1U << 20U)
                refuse("bad_tensor", "the alignment is invalid", "the file is damaged");
            return;
        }
        if (keeps_values_) {
            const std::size_t before = at_;
            keep_value(key, kind);
            if (!good()) return;
            at_ = before;
        }
        skip_value(kind, 0);
    }

    // The number that begins here, of a kind with a fixed size.
    FileValue number_value(std::uint64_t kind) {
        constexpr std::uint64_t f32_kind = 6;
        constexpr std::uint64_t boolean_kind = 7;
        constexpr std::uint64_t f64_kind = 12;
        const std::uint64_t bytes = value_bytes[kind];
        const std::uint64_t bits = number(bytes);
        FileValue value;
        if (kind == boolean_kind) {
            value.kind = FileValue::Kind::boolean;
            value.boolean = bits != 0;
        } else if (kind == f32_kind || kind == f64_kind) {
            value.kind = FileValue::Kind::real;
            value.real =
                kind == f32_kind ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : std::bit_cast<double>(bits);
        } else {
            value.kind = FileValue::Kind::whole;
            // the kinds are unsigned and signed in turn, from 8 to 32 bits, then of 64 bits
            const bool is_signed = kind == 1 || kind == 3 || kind == 5 || kind == 11;
            const auto unused = static_cast<unsigned>(64 - 8 * bytes);
            value.whole =
                is_signed ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
            value.real = static_cast<double>(value.whole);
        }
        return value;
    }

    void keep_value(std::string_view key, std::uint64_t kind) {
        constexpr std::uint64_t longest_list = 10'000;
        constexpr std::size_t longest_text = 1000;
        FileValue value;
        if (kind >= value_bytes.size()) return;
        if (kind == text_value) {
            value.kind = FileValue::Kind::text;
            value.text = text().substr(0, longest_text);
        } else if (kind == list_value) {
            const std::uint64_t inner = number(4);
            const std::uint64_t count = number(8);
            if (inner >= value_bytes.size() || count > file_.size) return;  // refused when it is skipped
            value.kind = FileValue::Kind::list;
            value.whole = static_cast<std::int64_t>(count);
            const bool numbers = value_bytes[inner] > 0 && count <= longest_list;
            for (std::uint64_t i = 0; numbers && i < count && good(); ++i) value.items.push_back(number_value(inner));
        } else {
            value = number_value(kind);
        }
        values_.members.emplace_back(std::string(key), std::move(value));
    }

    void skip_value(std::uint64_t kind, int depth) {
        if (!good()) return;
        if (kind >= value_bytes.size() || depth > deepest) {
            return refuse("bad_tensor", "a value in the header has an unknown type", "the file is damaged");
        }
        if (kind == text_value) {
            static_cast<void>(text());
        } else if (kind == list_value) {
            const std::uint64_t inner = number(4);
            const std::uint64_t count = number(8);
            if (inner >= value_bytes.size())
                return refuse("bad_tensor", "a list in the header has an unknown type", "the file is damaged");
            // A list cannot have more items than the file has bytes.
            if (count > file_.size)
                return refuse("cut_off", "the file ends in its header", "was its download interrupted?");
            if (value_bytes[inner] > 0) return skip(count * value_bytes[inner]);
            for (std::uint64_t i = 0; i < count && good(); ++i) skip_value(inner, depth + 1);
        } else {
            skip(value_bytes[kind]);
        }
    }

    Status tensor() {
        StoredTensor tensor;
        tensor.name = text();
        const std::uint64_t dims = number(4);
        constexpr std::uint64_t max_dims = 8;
        if (dims > max_dims) return bad(fmt::format("tensor {} has {} dimensions", in_ticks(tensor.name), dims));
        for (std::uint64_t i = 0; i < dims; ++i) {
            tensor.shape.insert(tensor.shape.begin(),
                                static_cast<std::int64_t>(number(8)));  // the file lists the innermost dimension first
        }
        const std::uint64_t id = number(4);
        const std::uint64_t offset = number(8);
        if (!good()) return {};
        const auto type =
            std::find_if(gguf_types.begin(), gguf_types.end(), [&](const GgufType& t) { return t.id == id; });
        if (type == gguf_types.end()) {
            return fail("unknown_dtype", fmt::format("tensor {} has the unknown type {}", in_ticks(tensor.name), id));
        }
        if (!names_.insert(tensor.name).second)
            return bad(fmt::format("tensor {} occurs twice", in_ticks(tensor.name)));
        tensor.dtype = type->word;
        ROOFLINE_CHECK(measure_tensor(tensor, {type->elements, 8 * type->bytes}));
        std::uint64_t end = 0;
        if (offset % alignment_ != 0 ||
            __builtin_add_overflow(offset, static_cast<std::uint64_t>(tensor.bytes), &end)) {
            return bad(
                fmt::format("tensor {} begins at {}, which is not a valid offset", in_ticks(tensor.name), offset));
        }
        checkpoint_.tensors.push_back(std::move(tensor));
        spans_.push_back({offset, end, checkpoint_.tensors.size() - 1});
        return {};
    }

    const WeightFile& file_;
    std::string_view head_;
    std::size_t at_ = 0;
    std::uint64_t alignment_ = 32;
    Error error_{};
    std::set<std::string> names_;
    std::vector<TensorSpan> spans_;
    Checkpoint checkpoint_{file_.name, "gguf", 1, {}, {}};
    bool keeps_values_ = false;
    FileValue values_{};
};

}  // namespace

Result<Checkpoint> read_gguf(const WeightFile& file) { return GgufReader(file).run(); }

Result<GgufHeader> read_gguf_header(const WeightFile& file) {
    if (!file.head.starts_with("GGUF")) {
        return fail("unknown_file", fmt::format("{} is not a GGUF file", file.name), "its first bytes are not `GGUF`");
    }
    auto read = GgufReader(file).header();
    if (read || read.error().place) return read;
    Error error = read.error();
    error.message = fmt::format("{}: {}", file.name, error.message);
    return fail(std::move(error));
}

}  // namespace roofline::core
