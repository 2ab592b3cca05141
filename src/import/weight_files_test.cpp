#include "import/weight_files.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

std::string little_endian(std::uint64_t value, std::size_t bytes) {
    std::string out;
    for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(static_cast<unsigned char>(value >> (8U * i)));
    return out;
}

/// A file with that header and so many bytes after it.
WeightFile safetensors(const std::string& header, std::uint64_t behind, std::string name = "m.safetensors") {
    return {std::move(name), little_endian(header.size(), 8) + header, 8 + header.size() + behind};
}

std::string code(const WeightFile& file) {
    auto read = read_weight_file(file);
    return read ? "" : read.error().code;
}

std::string text(std::string_view value) { return little_endian(value.size(), 8) + std::string(value); }

std::string gguf_tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                        std::uint64_t offset) {
    std::string out = text(name) + little_endian(dims.size(), 4);
    for (const std::uint64_t dim : dims) out += little_endian(dim, 8);
    return out + little_endian(type, 4) + little_endian(offset, 8);
}

std::string gguf(const std::vector<std::string>& values, const std::vector<std::string>& tensors,
                 std::uint32_t version = 3) {
    std::string out =
        "GGUF" + little_endian(version, 4) + little_endian(tensors.size(), 8) + little_endian(values.size(), 8);
    for (const std::string& value : values) out += value;
    for (const std::string& tensor : tensors) out += tensor;
    return out;
}

/// The file with its header padded to the alignment and so many bytes after it.
WeightFile gguf_file(const std::string& head, std::uint64_t behind) {
    return {"m.gguf", head, (head.size() + 31) / 32 * 32 + behind};
}

constexpr const char* two = R"({"__metadata__": {"format": "pt"},
    "model.layers.0.mlp.up_proj.weight": {"dtype": "BF16", "shape": [4, 8], "data_offsets": [24, 88]},
    "model.embed_tokens.weight": {"dtype": "F8_E4M3", "shape": [3, 8], "data_offsets": [0, 24]}})";

}  // namespace

TEST_CASE("safetensors: the contents of a header, without the tensors") {
    const auto read = read_weight_file(safetensors(two, 88));
    REQUIRE(read);
    REQUIRE(read->tensors.size() == 2);
    CHECK(read->format == "safetensors");
    CHECK(read->tensors[0].dtype == "bf16");
    CHECK(read->tensors[0].shape == std::vector<std::int64_t>{4, 8});
    CHECK(read->tensors[0].elements == 32);
    CHECK(read->tensors[0].bytes == 64);
    CHECK(read->tensors[1].bytes == 24);
    CHECK(read->notes.empty());
    const auto alone = read_weight_file(safetensors(two, 0));
    REQUIRE(alone);
    CHECK(alone->notes.size() == 1);
    // Two 4-bit values per byte, and a tensor without dimensions.
    CHECK(code(safetensors(R"({"a": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]},
                               "b": {"dtype": "F32", "shape": [], "data_offsets": [2, 6]}})",
                           6))
              .empty());
}

TEST_CASE("safetensors: wrong lengths, offsets and shapes") {
    const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets,
                        std::uint64_t behind) {
        return code(safetensors("{\"a\": {\"dtype\": \"" + std::string(dtype) + "\", \"shape\": " + std::string(shape) +
                                    ", \"data_offsets\": " + std::string(offsets) + "}}",
                                behind));
    };
    CHECK(one("F16", "[4]", "[0, 8]", 8).empty());
    CHECK(one("F16", "[4]", "[0, 8]", 7) == "cut_off");
    CHECK(one("F16", "[4]", "[0, 8]", 9) == "bad_tensor");  // data after the last tensor
    CHECK(one("F16", "[4]", "[0, 9]", 9) == "bad_tensor");  // longer than its shape
    CHECK(one("F16", "[4]", "[1, 9]", 9) == "bad_tensor");  // a gap
    CHECK(one("F16", "[4]", "[8, 0]", 8) == "bad_tensor");  // backwards
    CHECK(one("F16", "[4]", "[0]", 8) == "bad_tensor");
    CHECK(one("F16", "[4]", "[0, 1e1]", 10) == "bad_tensor");
    CHECK(one("F16", "[-4]", "[0, 8]", 8) == "bad_tensor");
    CHECK(one("F16", "[4294967296, 4294967296]", "[0, 8]", 8) == "bad_tensor");
    CHECK(one("F16", "[4294967296, 2147483647]", "[0, 8]", 8) == "bad_tensor");
    CHECK(one("F4", "[3]", "[0, 1]", 1) == "bad_tensor");  // half a byte
    CHECK(one("F17", "[4]", "[0, 8]", 8) == "unknown_dtype");
    CHECK(code(safetensors(R"({"a": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]},
                               "b": {"dtype": "I8", "shape": [4], "data_offsets": [3, 7]}})",
                           7)) == "bad_tensor");
    CHECK(code(safetensors(R"({"a": {"dtype": "I8", "shape": [0], "data_offsets": [0, 0]},
                               "a": {"dtype": "I8", "shape": [0], "data_offsets": [0, 0]}})",
                           0)) == "defined_twice");
    CHECK(code(safetensors(R"({"a\u001b": {"dtype": "I8", "shape": [1], "data_offsets": [0, 1]}})", 1)) ==
          "bad_tensor");
    CHECK(code(safetensors("{}", 0)) == "no_rows");
    CHECK(code(safetensors("{\"a\": 1}", 0)) == "bad_tensor");
    CHECK(code(safetensors("{\"a\": ", 0)) == "cut_off");
    CHECK(code({"m.safetensors", "", 0}) == "cut_off");
    CHECK(code({"m.safetensors", little_endian(1000, 8) + "{", 9}) == "cut_off");
    CHECK(code({"m.safetensors", std::string(8, '\xFF') + "{", 9}) == "unknown_file");
    CHECK(code({"m.safetensors", "version https://git-lfs.github.com/spec/v1\n", 44}) == "not_here");
}

TEST_CASE("GGUF: blocks of quantised types, reversed dimensions, values of every type") {
    const std::string head = gguf(
        {text("general.architecture") + little_endian(8, 4) + text("llama"), text("f") + little_endian(6, 4) + "abcd",
         text("general.alignment") + little_endian(4, 4) + little_endian(32, 4),
         text("tokens") + little_endian(9, 4) + little_endian(8, 4) + little_endian(2, 8) + text("a") + text("bc"),
         text("numbers") + little_endian(9, 4) + little_endian(5, 4) + little_endian(3, 8) + std::string(12, 'x')},
        {gguf_tensor("token_embd.weight", {256, 3}, 12, 0), gguf_tensor("blk.0.attn_norm.weight", {5}, 0, 448)});
    const auto read = read_weight_file(gguf_file(head, 480));
    REQUIRE(read);
    CHECK(read->format == "gguf");
    CHECK(read->tensors[0].shape == std::vector<std::int64_t>{3, 256});
    CHECK(read->tensors[0].dtype == "q4_k");
    CHECK(read->tensors[0].bytes == 432);  // three blocks of 144 bytes
    CHECK(read->tensors[1].bytes == 20);
    CHECK(wanted_head(head, head.size() + 1000) == head.size());
    CHECK(wanted_head(head.substr(0, head.size() - 1), head.size() + 1000) > head.size() - 1);
    CHECK(wanted_head("", 1'000'000) < 1'000'000);
}

TEST_CASE("GGUF: invalid headers") {
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {32}, 8, 0)}), 34)).empty());
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {32}, 8, 0)}), 33)) == "cut_off");
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {33}, 8, 0)}), 64)) == "bad_tensor");   // not a whole block
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {32}, 8, 16)}), 64)) == "bad_tensor");  // not aligned
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {32}, 8, 64)}), 98)) == "bad_tensor");  // a gap
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {32}, 8, 0), gguf_tensor("a", {32}, 8, 64)}), 98)) == "bad_tensor");
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {32}, 8, 0), gguf_tensor("b", {32}, 8, 32)}), 66)) == "bad_tensor");
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {std::uint64_t{1} << 63U}, 0, 0)}), 64)) == "bad_tensor");
    CHECK(code(gguf_file(gguf({}, {gguf_tensor("a", {32}, 4, 0)}), 64)) == "unknown_dtype");
    CHECK(code(gguf_file(gguf({}, {}), 0)) == "no_rows");
    CHECK(code(gguf_file(gguf({}, {}, 0x03000000), 0)) == "unknown_file");  // the other byte order
    CHECK(code(gguf_file(gguf({text("k") + little_endian(13, 4)}, {}), 0)) == "bad_tensor");
    CHECK(code(gguf_file(
              gguf({text("k") + little_endian(9, 4) + little_endian(8, 4) + little_endian(~std::uint64_t{0}, 8)}, {}),
              0)) == "cut_off");
    CHECK(code(gguf_file(gguf({little_endian(~std::uint64_t{0}, 8)}, {}), 0)) == "cut_off");
    CHECK(code({"m.gguf", "GGUF" + little_endian(3, 4) + little_endian(~std::uint64_t{0}, 8) + little_endian(0, 8),
                24}) == "bad_tensor");
    std::string nested = text("k") + little_endian(9, 4);
    for (int i = 0; i < 50; ++i) nested += little_endian(9, 4) + little_endian(1, 8);
    CHECK(code(gguf_file(gguf({nested}, {}), 1000)) == "bad_tensor");
}

TEST_CASE("shards: together they match the index") {
    const std::string index =
        R"({"metadata": {"total_size": 12}, "weight_map": {"a": "x-1.safetensors", "b": "x-2.safetensors"}})";
    const WeightFile first =
        safetensors(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 8, "d/x-1.safetensors");
    const WeightFile second =
        safetensors(R"({"b": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}})", 4, "d/x-2.safetensors");
    CHECK(shard_names(index, "i").value() == std::vector<std::string>{"x-1.safetensors", "x-2.safetensors"});
    const auto all = read_shards(index, "i", {first, second});
    REQUIRE(all);
    CHECK(all->tensors.size() == 2);
    CHECK(all->files == 2);
    CHECK(all->notes.empty());
    CHECK(read_shards(index, "i", {first}).error().code == "bad_index");
    CHECK(read_shards(R"({"weight_map": {"b": "x-2.safetensors"}})", "i", {first}).error().code == "bad_index");
    CHECK(read_shards(R"({"metadata": {"total_size": 13}, "weight_map": {"b": "x-2.safetensors"}})", "i", {second})
              ->notes.size() == 1);
    for (const std::string_view wrong :
         {R"({"weight_map": {"a": "../x.safetensors"}})", R"({"weight_map": {"a": "/etc/passwd"}})",
          R"({"weight_map": {"a": 1}})", R"({"weight_map": {}})", "[]", R"({"weight_map": {"a": ".safetensors"}})"}) {
        CAPTURE(wrong);
        CHECK(shard_names(wrong, "i").error().code == "bad_index");
    }
}
