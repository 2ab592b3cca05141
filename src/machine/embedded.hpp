// The files of data/ as the build put them into the program (cmake/embed.cmake writes the definitions).
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

/// One line of data/sources.toml.
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
    bool unsupported = false;  ///< known, but not read
    std::string_view base;     ///< the model_type that it takes the rest from; "" for none
    std::string_view text;
};

/// One file of data/architectures.
struct EmbeddedArchitecture {
    std::string_view name;
    std::string_view text;
};

/// In alphabetical order of ids.
[[nodiscard]] std::span<const EmbeddedMachine> embedded_machines();

/// In the order of the file.
[[nodiscard]] std::span<const EmbeddedSource> embedded_sources();

/// data/presets.toml.
[[nodiscard]] std::string_view embedded_presets();

/// data/trained_models.toml.
[[nodiscard]] std::string_view embedded_trained_models();

/// data/training_steps.toml.
[[nodiscard]] std::string_view embedded_training_steps();

/// data/model_names.toml.
[[nodiscard]] std::string_view embedded_model_names();

/// data/systems.toml.
[[nodiscard]] std::string_view embedded_systems();

/// data/extrapolation.toml.
[[nodiscard]] std::string_view embedded_extrapolation();

/// data/servers.toml.
[[nodiscard]] std::string_view embedded_servers();

/// In alphabetical order of model types.
[[nodiscard]] std::span<const EmbeddedKeys> embedded_keys();

/// In alphabetical order of names.
[[nodiscard]] std::span<const EmbeddedArchitecture> embedded_architectures();

/// In alphabetical order of machines.
[[nodiscard]] std::span<const EmbeddedCalibration> embedded_calibrations();

}  // namespace roofline::core
