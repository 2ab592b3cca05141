// Models for tests, by name.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "model/model.hpp"
#include "model/presets.hpp"

namespace roofline::core {

/// A model for sequences of `sequence` tokens.
inline Model model_named(std::string_view name, std::int64_t sequence) {
    auto config = preset_config(name);
    REQUIRE(config.has_value());
    auto model = build_model(*config, sequence);
    REQUIRE(model.has_value());
    return std::move(*model);
}

}  // namespace roofline::core
