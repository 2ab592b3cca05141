// What `roofline model` answers for files of weights, and its printed forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra/rational.hpp"
#include "model/checkpoint.hpp"
#include "model/checkpoint_check.hpp"
#include "report/table.hpp"

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

[[nodiscard]] std::string checkpoint_text(const CheckpointAnswer& answer);
[[nodiscard]] std::string checkpoint_json(const CheckpointAnswer& answer);
/// A line for each part, or for each layer.
[[nodiscard]] Table checkpoint_table(const CheckpointAnswer& answer, bool layers);

}  // namespace roofline::core
