// Tests that the data which the build compiled into the program equals what the readers make of the files in data/.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "calibrate/calibration.hpp"
#include "machine/embedded.hpp"

using namespace roofline::core;

namespace {

std::filesystem::path data() { return std::filesystem::path(ROOFLINE_SOURCE_FOLDER) / "data"; }

std::string text_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    REQUIRE_MESSAGE(stream.good(), path.string());
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::size_t files_in(const std::string& folder) {
    const std::filesystem::directory_iterator all(data() / folder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Returns the path of the first value in which both trees differ; "" if they are equal.
std::string difference(TomlNode a, TomlNode b) {
    if (a.kind() != b.kind() || a.size() != b.size() || a.place() != b.place()) return "kind, size or place";
    if (a.text() != b.text() || a.bits() != b.bits()) return "value";
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::string name = std::to_string(i);
        if (a.is(TomlKind::table)) {
            name = a[i].key();
            if (a[i].key() != b[i].key() || a[i].key_place() != b[i].key_place()) return name + ": key";
        }
        const std::string inside = difference(a[i], b[i]);
        if (!inside.empty()) return name + ": " + inside;
    }
    return "";
}

/// Returns the first difference between a built-in file and the file of that name parsed at run time.
std::string difference(TomlNode built_in, const std::string& name) {
    const std::string text = text_of(data() / name);
    const auto document = TomlDocument::parse(Source(text, name));
    REQUIRE_MESSAGE(document, name);
    return difference(built_in, document->root());
}

std::string file_of(const std::string& folder, std::string_view id) { return folder + std::string(id) + ".toml"; }

}  // namespace

TEST_CASE("every file of TOML that the build parsed is what parsing its text gives") {
    CHECK(embedded_machines().size() == files_in("machines"));
    for (const EmbeddedMachine& each : embedded_machines()) {
        CHECK_MESSAGE(difference(each.file(), file_of("machines/", each.id)) == "", each.id);
        CHECK(each.text == text_of(data() / file_of("machines/", each.id)));
    }
    CHECK(embedded_calibrations().size() == files_in("calibration"));
    for (const EmbeddedCalibration& each : embedded_calibrations()) {
        CHECK_MESSAGE(difference(each.file(), file_of("calibration/", each.machine)) == "", each.machine);
    }
    CHECK(embedded_keys().size() == files_in("models"));
    for (const EmbeddedKeys& each : embedded_keys()) {
        CHECK_MESSAGE(difference(each.file(), file_of("models/", each.model_type)) == "", each.model_type);
    }
    CHECK(difference(embedded_presets(), "presets.toml") == "");
    CHECK(difference(embedded_trained_models(), "trained_models.toml") == "");
    CHECK(difference(embedded_training_steps(), "training_steps.toml") == "");
    CHECK(difference(embedded_model_names(), "model_names.toml") == "");
    CHECK(difference(embedded_systems(), "systems.toml") == "");
    CHECK(difference(embedded_extrapolation(), "extrapolation.toml") == "");
    CHECK(difference(embedded_servers(), "servers.toml") == "");
    CHECK(difference(embedded_server_memory(), "server_memory.toml") == "");
    CHECK(difference(embedded_benchmark_loads(), "benchmark_loads.toml") == "");
    CHECK(difference(embedded_exchanges(), "exchanges.toml") == "");
    CHECK(difference(embedded_interruptions(), "interruptions.toml") == "");
}

TEST_CASE("files of another kind are built in as they are") {
    CHECK(embedded_architectures().size() == files_in("architectures"));
    for (const EmbeddedArchitecture& each : embedded_architectures()) {
        CHECK(each.text == text_of(data() / "architectures" / (std::string(each.name) + ".roof")));
    }
    const std::string text = text_of(data() / "sources.toml");
    const auto document = TomlDocument::parse(Source(text, "sources.toml"));
    REQUIRE(document);
    REQUIRE(document->root().size() == embedded_sources().size());
    for (const EmbeddedSource& each : embedded_sources())
        CHECK(document->root().find(each.key).text() == each.citation);
}

TEST_CASE("a file of constants is as `roofline fit` writes it") {
    for (const EmbeddedCalibration& each : embedded_calibrations()) {
        CAPTURE(each.machine);
        const auto read = parse_calibration(each.file(), each.machine);
        REQUIRE(read);
        CHECK(calibration_text(*read) == text_of(data() / file_of("calibration/", each.machine)));
    }
}
