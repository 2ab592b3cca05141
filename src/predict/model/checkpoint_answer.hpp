// What files of weights hold, beside what the configuration says that they hold.
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

/// The configuration beside the files, where it can be read and compared.
struct ConfiguredCheckpoint {
    std::string config;                    ///< the file's name
    std::optional<CheckpointCheck> check;  ///< none: parameters are packed, and cannot be counted in the file
    Rational weight_bytes;                 ///< what the configuration says that its parameters take
    std::string scheme;                    ///< how they are stored then
};

struct CheckpointAnswer {
    Checkpoint checkpoint;
    CheckpointSums sums;
    std::optional<ConfiguredCheckpoint> configured;
    std::vector<std::string> notes;
};

/// The configuration of the model whose weights the files hold.
struct CheckpointConfig {
    Config config;
    std::optional<Quantisation> quantisation;
};

/// What the files hold, and nothing to compare it with.
[[nodiscard]] CheckpointAnswer account_of(Checkpoint checkpoint);

/// The same beside a configuration, of the file `name`. A configuration that cannot be read or built is no reason to
/// keep the sizes back: a note says why nothing is compared.
[[nodiscard]] CheckpointAnswer account_of(Checkpoint checkpoint, const std::string& name,
                                          const Result<CheckpointConfig>& config);

}  // namespace roofline::core
