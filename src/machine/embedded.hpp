// The files of data/ as the build put them into the program (tools/embed_data.cpp writes the definitions). TOML files
// are parsed by the build or, where the program has to be small (the page), when they are first asked for. The text of
// a file is included only if the program uses the text itself.
#pragma once

#include <span>
#include <string_view>

#include "text/toml_node.hpp"

namespace roofline::core {

/// Returns the root of a file, which stays there for good.
using EmbeddedFile = TomlNode (*)();

/// One file of data/machines.
struct EmbeddedMachine {
    std::string_view id;
    std::string_view aliases;  ///< each followed by '\n'
    std::string_view text;     ///< the whole TOML file
    EmbeddedFile file;
    EmbeddedFile identity;  ///< likewise, perhaps only what stands before the first table of the file
};

/// One entry of data/sources.toml.
struct EmbeddedSource {
    std::string_view key;
    std::string_view citation;
};

/// One file of data/calibration.
struct EmbeddedCalibration {
    std::string_view machine;
    EmbeddedFile file;
};

/// One file of data/models.
struct EmbeddedKeys {
    std::string_view model_type;
    std::string_view aliases;  ///< each followed by '\n'
    bool unsupported = false;  ///< known, but not read
    std::string_view base;     ///< the model_type that it takes the rest from; "" for none
    EmbeddedFile file;
};

/// One file of data/architectures.
struct EmbeddedArchitecture {
    std::string_view name;
    std::string_view text;
};

/// One file of data/frameworks.
struct EmbeddedFramework {
    std::string_view name;
    EmbeddedFile file;
};

/// All machines, in alphabetical order of ids.
[[nodiscard]] std::span<const EmbeddedMachine> embedded_machines();

/// In alphabetical order of keys.
[[nodiscard]] std::span<const EmbeddedSource> embedded_sources();

/// data/presets.toml.
[[nodiscard]] TomlNode embedded_presets();

/// data/trained_models.toml.
[[nodiscard]] TomlNode embedded_trained_models();

/// data/training_steps.toml.
[[nodiscard]] TomlNode embedded_training_steps();

/// data/model_names.toml.
[[nodiscard]] TomlNode embedded_model_names();

/// data/systems.toml.
[[nodiscard]] TomlNode embedded_systems();

/// data/extrapolation.toml.
[[nodiscard]] TomlNode embedded_extrapolation();

/// data/servers.toml.
[[nodiscard]] TomlNode embedded_servers();

/// data/passes.toml.
[[nodiscard]] TomlNode embedded_passes();

/// data/server_memory.toml.
[[nodiscard]] TomlNode embedded_server_memory();

/// data/benchmark_loads.toml.
[[nodiscard]] TomlNode embedded_benchmark_loads();

/// data/exchanges.toml.
[[nodiscard]] TomlNode embedded_exchanges();

/// data/interruptions.toml.
[[nodiscard]] TomlNode embedded_interruptions();

/// All files of data/models, in alphabetical order of model types.
[[nodiscard]] std::span<const EmbeddedKeys> embedded_keys();

/// All architectures, in alphabetical order of names.
[[nodiscard]] std::span<const EmbeddedArchitecture> embedded_architectures();

/// All files of data/frameworks, in alphabetical order of names.
[[nodiscard]] std::span<const EmbeddedFramework> embedded_frameworks();

/// All calibrations, in alphabetical order of machines.
[[nodiscard]] std::span<const EmbeddedCalibration> embedded_calibrations();

}  // namespace roofline::core
