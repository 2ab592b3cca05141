// The JSON of --emit, which answers of all commands with a plan have.
#pragma once

#include <optional>

#include "plan/emitted_launch.hpp"
#include "report/figure.hpp"

namespace roofline::core {

/// Returns framework, version, text and remarks; left out of an answer for which --emit was not given.
[[nodiscard]] inline FigureValue emitted_json(const std::optional<EmittedLaunch>& emitted) {
    if (!emitted) return omitted_value();
    return {{"framework", emitted->framework},
            {"version", emitted->version},
            {"text", emitted->text},
            {"remarks", emitted->remarks}};
}

}  // namespace roofline::core
