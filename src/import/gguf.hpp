// GGUF files: their keys and values, and the model that these describe.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/weight_files.hpp"
#include "text/value.hpp"

namespace roofline::core {

/// A GGUF header.
struct GgufHeader {
    Checkpoint checkpoint;
    /// A table of all keys. Of a list only numbers are kept, and only of one that is no longer than a model has layers;
    /// `whole` is its length.
    FileValue values;
};

/// Reads a header, with the errors of read_weight_file(). Whether the tensors are inside the file is not checked.
[[nodiscard]] Result<GgufHeader> read_gguf_header(const WeightFile& file);

/// Returns the text of a config.json that describes the model of the file in the keys of its Hugging Face class, with a
/// `quantization_config` of the type of each tensor (Quantisation::types). Errors: those of read_gguf_header(); an
/// architecture without a class here, by name; a key that it needs is missing, or not a size, or differs from the
/// shapes of tensors; a file of several, which has only a part of the tensors.
[[nodiscard]] Result<std::string> gguf_config(const WeightFile& file);

}  // namespace roofline::core
