// The file types of llama.cpp, "Q4_K_M": in which block type each tensor of a quantised model is stored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"

namespace roofline::core {

/// Returns the names of all file types, "Q4_K_M" ...
[[nodiscard]] std::vector<std::string> file_type_names();

/// Returns whether a word names a file type, regardless of case, but F16 only in capitals, because f16 is a dtype.
[[nodiscard]] bool is_file_type(std::string_view word);

/// Returns the configuration of the same model quantised to a file type, with a `quantization_config` that gives each
/// matrix the type that llama.cpp's `llama-quantize` chooses for it (llama_tensor_get_type() in src/llama-quant.cpp),
/// with an importance matrix. Experts that are published in mxfp4 keep it in every file type, as in all published files
/// of gpt-oss. Errors: an unknown file type, with the nearest; those of build_model().
[[nodiscard]] Result<Config> with_file_type(Config config, std::string_view word);

}  // namespace roofline::core
