#include "import/model_names.hpp"

#include <doctest/doctest.h>

#include "model/presets.hpp"

using namespace roofline::core;

TEST_CASE("a listed name means a preset, ignoring case; any other is assumed to be a preset's own") {
    auto names = ModelNames::parse("[[model]]\npreset = \"llama-9\"\nnames = [\"LLaMA v9\", \"L9\"]\n", "names.toml");
    REQUIRE(names);
    CHECK(names->preset_of("llama V9") == "llama-9");
    CHECK(names->preset_of("L9") == "llama-9");
    CHECK(names->preset_of("Other-1B") == "other-1b");
    CHECK(names->preset_of("") == "");
}

TEST_CASE("an entry without names or with an unknown key is an error") {
    CHECK_FALSE(ModelNames::parse("[[model]]\npreset = \"x\"\n", "names.toml"));
    CHECK_FALSE(ModelNames::parse("[[model]]\npreset = \"x\"\nnames = [\"y\"]\nsize = 1\n", "names.toml"));
}

TEST_CASE("every preset that the built-in names mean exists") {
    auto names = ModelNames::built_in();
    REQUIRE(names);
    CHECK_FALSE(names->presets().empty());
    for (const std::string& preset : names->presets()) {
        const auto config = preset_config(preset);
        CHECK_MESSAGE(config.has_value(), preset);
        if (config) CHECK(config->name == preset);
    }
}
