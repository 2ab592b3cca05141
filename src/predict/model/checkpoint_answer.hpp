// Contents of weight files, compared with what the model's configuration implies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra/rational.hpp"
#include "base/result.hpp"
#include "model/checkpoint.hpp"
#include "model/checkpoint_check.hpp"
#include "model/config.hpp"
#include "model/weights.hpp"

namespace roofline::core {

/// What the configuration implies, and how the files compare with it.
struct ConfiguredCheckpoint {
    std::string config;                    ///< name of the configuration file
    std::optional<CheckpointCheck> check;  ///< empty if parameters are packed and cannot be counted in the files
    Rational weight_bytes;                 ///< bytes of all parameters according to the configuration
    std::string scheme;                    ///< storage format of the weights according to the configuration
};

/// The contents of weight files, with a comparison if there is a configuration.
struct CheckpointAnswer {
    Checkpoint checkpoint;
    CheckpointSums sums;
    std::optional<ConfiguredCheckpoint> configured;
    std::vector<std::string> notes;
};

/// The configuration of the model whose weights the files contain.
struct CheckpointConfig {
    Config config;
    std::optional<Quantisation> quantisation;
};

/// Returns the contents of the files without a comparison.
[[nodiscard]] CheckpointAnswer account_of(Checkpoint checkpoint);

/// Returns the contents of the files, compared with the configuration in the file `name`. If the configuration cannot
/// be read or the model cannot be built, the contents are returned with a note that gives the reason.
[[nodiscard]] CheckpointAnswer account_of(Checkpoint checkpoint, const std::string& name,
                                          const Result<CheckpointConfig>& config);

}  // namespace roofline::core
