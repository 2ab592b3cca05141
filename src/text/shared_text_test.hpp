// Collections of samples and known answers that lie beside the project, for tests that use them where they are there.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "text/gzip.hpp"

namespace roofline::core {

/// Returns the contents of a file in ../shared, unpacked if it ends in ".gz". Nothing, with a message that a test was
/// skipped, if the file is not there.
inline std::optional<std::string> shared_text(const std::string& name) {
    std::ifstream file("../shared/" + name, std::ios::binary);
    if (!file) {
        MESSAGE("skipped: ../shared/", name, " is not here");
        return std::nullopt;
    }
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!name.ends_with(".gz")) return text;
    auto unpacked = gunzip(text, name);
    REQUIRE_MESSAGE(unpacked.has_value(), to_text(unpacked.error()));
    return std::move(*unpacked);
}

}  // namespace roofline::core
