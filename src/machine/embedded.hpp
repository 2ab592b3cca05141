// The files of data/ that the build embeds in the program (cmake/embed.cmake generates the definitions).
#pragma once

#include <span>
#include <string_view>

namespace roofline::core {

/// One file of data/machines.
struct EmbeddedMachine {
    std::string_view id;
    std::string_view aliases;  ///< each followed by '\n'
    std::string_view text;     ///< the whole TOML file
};

/// One entry of data/sources.toml.
struct EmbeddedSource {
    std::string_view key;
    std::string_view citation;
};

/// One file of data/calibration.
struct EmbeddedCalibration {
    std::string_view machine;
    std::string_view text;
};

/// One file of data/models.
struct EmbeddedKeys {
    std::string_view model_type;
    std::string_view aliases;  ///< each followed by '\n'
    bool unsupported = false;  ///< known, but not supported
    std::string_view base;     ///< the model_type whose keys it inherits; "" for none
    std::string_view text;
};

/// One file of data/architectures.
struct EmbeddedArchitecture {
    std::string_view name;
    std::string_view text;
};

/// All machines, in alphabetical order of ids.
[[nodiscard]] std::span<const EmbeddedMachine> embedded_machines();

/// All sources, in the order of the file.
[[nodiscard]] std::span<const EmbeddedSource> embedded_sources();

/// The text of data/presets.toml.
[[nodiscard]] std::string_view embedded_presets();

/// The text of data/trained_models.toml.
[[nodiscard]] std::string_view embedded_trained_models();

/// The text of data/training_steps.toml.
[[nodiscard]] std::string_view embedded_training_steps();

/// The text of data/model_names.toml.
[[nodiscard]] std::string_view embedded_model_names();

/// The text of data/systems.toml.
[[nodiscard]] std::string_view embedded_systems();

/// The text of data/extrapolation.toml.
[[nodiscard]] std::string_view embedded_extrapolation();

/// The text of data/servers.toml.
[[nodiscard]] std::string_view embedded_servers();

/// All files of data/models, in alphabetical order of model types.
[[nodiscard]] std::span<const EmbeddedKeys> embedded_keys();

/// All architectures, in alphabetical order of names.
[[nodiscard]] std::span<const EmbeddedArchitecture> embedded_architectures();

/// All calibrations, in alphabetical order of machines.
[[nodiscard]] std::span<const EmbeddedCalibration> embedded_calibrations();

}  // namespace roofline::core
