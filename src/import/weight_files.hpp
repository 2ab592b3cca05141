// Files of weights: what their headers say they hold. Nothing behind a header is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/checkpoint.hpp"

namespace roofline::core {

/// Of a safetensors file, by the format.
inline constexpr std::uint64_t longest_header = 100'000'000;

/// The beginning of a file of weights, with its header.
struct WeightFile {
    std::string name;
    std::string head;        ///< at least the header
    std::uint64_t size = 0;  ///< of the whole file, in bytes
};

/// Whether the name is that of a file that read_weight_file() or shard_names() takes.
[[nodiscard]] bool is_weight_file(std::string_view name);
[[nodiscard]] bool is_weight_index(std::string_view name);

/// How many bytes of the file's beginning are wanted, as far as `head` shows it: no more than it has, when that is enough.
/// Never more than the 100 MB that a header may have.
[[nodiscard]] std::uint64_t wanted_head(std::string_view head, std::uint64_t size);

/// Reads a header, of safetensors or GGUF. Every length in it is checked: tensors lie behind one another, each as long as its shape and
/// dtype say, none beyond the file. A file that ends with its header is read, and a note says so. Errors: neither format, an end
/// in the header or in the tensors (`cut_off`), overlaps and holes, a dtype that is not known, a name that stands twice.
[[nodiscard]] Result<Checkpoint> read_weight_file(const WeightFile& file);

/// The files that a model.safetensors.index.json names, each once, in order. Errors: no index, names that lead elsewhere.
[[nodiscard]] Result<std::vector<std::string>> shard_names(std::string_view index, std::string_view name);

/// All shards as one. Errors: those of the shards; a tensor that the index has in another file or not at all, and one that no file has.
[[nodiscard]] Result<Checkpoint> read_shards(std::string_view index, std::string_view name,
                                             const std::vector<WeightFile>& shards);

// Of the two formats; read_weight_file() chooses.
[[nodiscard]] Result<Checkpoint> read_safetensors(const WeightFile& file);
[[nodiscard]] Result<Checkpoint> read_gguf(const WeightFile& file);

/// Where a tensor lies behind the header, for the check that all files get.
struct TensorSpan {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t tensor = 0;  ///< its place in the checkpoint
};

/// Sorts the spans and checks them against one another and the `room` behind the header; `alignment` is how much a gap may be less
/// than. A file without any room holds its header alone. Errors: overlaps, holes, an end beyond the file.
[[nodiscard]] Status check_spans(Checkpoint& checkpoint, std::vector<TensorSpan> spans, std::uint64_t room,
                                 std::uint64_t alignment);

/// The product of a shape, and its bytes at so many bits for each block of elements. Errors: negative sizes, beyond 60 bits, a first
/// dimension (the innermost) that is not made of whole blocks.
struct BlockSize {
    std::int64_t elements = 1;
    std::int64_t bits = 8;
};
[[nodiscard]] Status measure_tensor(StoredTensor& tensor, const BlockSize& block);

}  // namespace roofline::core
