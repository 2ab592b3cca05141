// Reads the headers of weight files. Nothing after a header is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/checkpoint.hpp"

namespace roofline::core {

/// Limit for the header of a safetensors file, defined by the format.
inline constexpr std::uint64_t longest_header = 100'000'000;

/// The beginning of a weight file, with its header.
struct WeightFile {
    std::string name;
    std::string head;        ///< at least the header
    std::uint64_t size = 0;  ///< of the whole file, in bytes
};

/// Returns whether read_weight_file() or shard_names() can read a file with this name.
[[nodiscard]] bool is_weight_file(std::string_view name);
[[nodiscard]] bool is_weight_index(std::string_view name);

/// Number of bytes of the file's beginning that are needed, as far as `head` tells; not more than `head` has if that is
/// enough, and never more than the 100 MB of the longest header.
[[nodiscard]] std::uint64_t wanted_head(std::string_view head, std::uint64_t size);

/// Reads a safetensors or GGUF header. Every length in it is checked: tensors must be contiguous, as long as their
/// shape and dtype say, and inside the file. A file that ends after its header is accepted with a note. Errors: another
/// format, a truncated header or truncated tensors (`cut_off`), overlaps and gaps, an unknown dtype, a duplicate name.
[[nodiscard]] Result<Checkpoint> read_weight_file(const WeightFile& file);

/// The files that a model.safetensors.index.json names, each once, in order. Errors: not an index, names that point
/// elsewhere.
[[nodiscard]] Result<std::vector<std::string>> shard_names(std::string_view index, std::string_view name);

/// Reads all shards as one checkpoint. Errors: those of the shards; a tensor that the index maps to another file or not
/// at all; a tensor that no file contains.
[[nodiscard]] Result<Checkpoint> read_shards(std::string_view index, std::string_view name,
                                             const std::vector<WeightFile>& shards);

// The readers of the two formats, called by read_weight_file().
[[nodiscard]] Result<Checkpoint> read_safetensors(const WeightFile& file);
[[nodiscard]] Result<Checkpoint> read_gguf(const WeightFile& file);

/// Position of a tensor after the header, for the checks that apply to both formats.
struct TensorSpan {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t tensor = 0;  ///< its index in the checkpoint
};

/// Sorts the spans and checks them against one another and against the `room` after the header; gaps must be smaller
/// than `alignment`. A file with no room contains only its header. Errors: overlaps, gaps, an end beyond the file.
[[nodiscard]] Status check_spans(Checkpoint& checkpoint, std::vector<TensorSpan> spans, std::uint64_t room,
                                 std::uint64_t alignment);

/// Number of elements of a shape, and its bytes for so many bits per block of elements. Errors: negative sizes, more
/// than 60 bits, a first dimension (the innermost) that does not consist of whole blocks.
struct BlockSize {
    std::int64_t elements = 1;
    std::int64_t bits = 8;
};
[[nodiscard]] Status measure_tensor(StoredTensor& tensor, const BlockSize& block);

}  // namespace roofline::core
