// The forward-pass model: the time of a prompt or of a generated token on chips without timings of single kernels. It
// is fitted to whole forward passes, as llama.cpp's benchmark reports them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "text/toml_node.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// The kernels of a pass at a chip's published rates, as sums over all layers.
struct PassParts {
    double weights_s = 0;  ///< matmuls with weights: in main memory, of a prompt in each full chunk
    /// The same in a prompt's last chunk, whose tokens may choose fewer experts; empty: as in the others.
    std::optional<double> last_weights_s;
    std::map<Dtype, double> products_s;  ///< these matmuls in the math units, by the type in which weights are stored
    double cache_s = 0;                  ///< attention: in main memory
    double attention_s = 0;              ///< attention: in the math units
    double kernels = 0;                  ///< number of kernels
    bool generates = false;              ///< each sequence has one token
    double tokens = 1;                   ///< per sequence
    std::int64_t chips = 1;              ///< pipeline stages that the layers are split over
    double cores = 1;                    ///< part of the chip's cores that compute

    bool operator==(const PassParts&) const = default;
};

/// How fast weights that are stored in one of these types are multiplied.
struct PassProducts {
    std::vector<std::string> types;  ///< none: all others
    double rate = 1;                 ///< part of the math rate in prompts
    double unpack = 0;  ///< the same for a single token, for which weights are dequantised anew; 0: no limit

    bool operator==(const PassProducts&) const = default;
};

/// A chip of a family, with the ratios of its measured times to those of the family's model.
struct PassChip {
    std::string machine;
    double generation = 1;
    double prompts = 1;
    std::int64_t rows = 0;

    bool operator==(const PassChip&) const = default;
};

/// Medians of |predicted - measured| / measured.
struct PassErrors {
    double fitted = 0;
    double held_out = 0;   ///< with a quarter of the measurements held out; each chip has others
    double chips = 0;      ///< with one chip held out
    double relatives = 0;  ///< of chips predicted by the nearest chip of another family; 0: there is none

    bool operator==(const PassErrors&) const = default;
};

/// The model of chips that are built alike, with one library.
struct PassFamily {
    std::string software;      ///< "llama.cpp"
    std::string name;          ///< "Ada"
    double memory = 1;         ///< part of the main memory's rate that weights are read at
    double cache = 1;          ///< the same for keys and values
    double attention = 1;      ///< part of the math rate of attention in prompts
    double kernel_s = 0;       ///< added per kernel
    double hop_s = 0;          ///< added for each further chip that has a part of the layers
    std::int64_t chunk = 512;  ///< prompt tokens that a chip processes at a time, while others have other chunks
    bool sums_in_f16 = false;  ///< matmuls accumulate in f16 where that is faster
    std::vector<PassProducts> products;
    std::vector<PassChip> chips;
    std::vector<std::string> models;   ///< the measured ones
    std::vector<std::string> sources;  ///< publishers of the measurements
    std::int64_t rows = 0;
    std::int64_t longest = 0;  ///< tokens of the longest prompt or generation
    PassErrors generation;
    PassErrors prompts;

    bool operator==(const PassFamily&) const = default;

    [[nodiscard]] const PassErrors& errors(bool generates) const { return generates ? generation : prompts; }
    [[nodiscard]] const PassChip* chip(std::string_view machine) const;
    [[nodiscard]] const PassProducts& of(Dtype dtype) const;
};

/// Returns the seconds of a pass by a family's model, before the factor of its chip. Matmuls of each chunk of a prompt
/// take the longer of reading the weights of that chunk at a part of the memory's rate and of multiplying at a part of
/// the math rate; of a single token they take the norm of order 4 of reading and unpacking. Attention and a time per
/// kernel are added. On several chips that have the layers in turn a token visits one after another; chunks of a prompt
/// follow each other like jobs of unequal lengths through machines that are equally fast: in (sum of the chunks' times
/// + (chips - 1) * the longest) / chips.
[[nodiscard]] double pass_seconds(const PassFamily& family, const PassParts& parts);

/// Returns the factor by which math units that accumulate in f16 are faster than in f32; 1 if they are not, or if that
/// is not known.
[[nodiscard]] double gain_of_f16_sums(const Machine& machine);

/// Returns the factor by which a processor's matrix extension (AMX) is faster in bf16 than its vector units, which have
/// at most twice their rate in f32; 1 if it has none. llama.cpp was measured on vector units only.
[[nodiscard]] double gain_of_matrix_extension(const Machine& machine);

/// The expected time of a forward pass.
struct ExpectedPass {
    double seconds = 0;
    double error = 0;                    ///< median, of measurements that were not fitted
    const PassFamily* family = nullptr;  ///< whose model it is
    const PassChip* chip = nullptr;      ///< the chip itself, or the nearest calibrated one
    bool transferred = false;            ///< from another chip
};

/// The models of all libraries.
struct PassModels {
    std::string fitted;  ///< date of the fit
    std::vector<PassFamily> families;

    bool operator==(const PassModels&) const = default;

    /// Returns whether passes of this library were measured; an empty name is none.
    [[nodiscard]] bool known(std::string_view software) const;
    /// Returns the expected time of a pass: by the model of the machine's own family, or else of the nearest machine of
    /// the same kind and vendor, for processors of any vendor. Machines are near whose years and ratios of vector rate
    /// and bandwidth are alike, as built in: figures that were changed do not choose another. Of several cores or chips
    /// the parts say which. Empty: there is none.
    [[nodiscard]] std::optional<ExpectedPass> expected(const Machine& machine, std::string_view software,
                                                       const PassParts& parts) const;
};

/// The distance of two machines for transfer: years, plus powers of two between their ratios of vector rate and
/// bandwidth. Empty: machines of different kinds.
[[nodiscard]] std::optional<double> pass_distance(const Machine& a, const Machine& b);

/// Reads data/passes.toml or a file of the same format strictly. Errors carry the line and the column.
[[nodiscard]] Result<PassModels> parse_pass_models(const TomlInput& toml, std::string_view origin);
/// Returns the text of such a file, with parameters rounded to four digits.
[[nodiscard]] std::string pass_models_text(const PassModels& models);
/// Returns whether a file contains forward-pass models.
[[nodiscard]] bool holds_pass_models(std::string_view toml);
/// Returns the built-in forward-pass models.
[[nodiscard]] const PassModels& built_in_passes();

}  // namespace roofline::core
