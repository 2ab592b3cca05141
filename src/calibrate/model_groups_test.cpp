#include "calibrate/model_groups.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "calibrate/calibration.hpp"
#include "machine/embedded.hpp"

using namespace roofline::core;

namespace {

const std::string_view two_groups =
    "machine = \"m\"\n\n[[law]]\noperation = \"send\"\ntiers = \"a+b\"\n[[law.count]]\nmembers = 2\n"
    "\n[[law]]\noperation = \"permute\"\nsegments = [\n]\n\n[[kernel]]\nkind = \"gather\"\n";

}  // namespace

TEST_CASE("models of a file of constants are found by their group") {
    const auto document = TomlDocument::parse(Source(two_groups, "m.toml"));
    REQUIRE(document);
    const TomlNode file = document->root();
    const auto sends = models_in(file, models_of(CollectiveKind::send));
    REQUIRE(sends.size() == 1);
    CHECK(text_in(sends.front(), "tiers") == "a+b");
    CHECK(text_in(sends.front(), "system").empty());
    CHECK(models_in(file, models_of_kernels(KernelKind::gather)).size() == 1);
    CHECK(models_in(file, models_of_exchanges()).empty());
    CHECK(models_in(TomlNode(), models_of_exchanges()).empty());
}

// Reading a built-in file group by group must give the same models as reading it as a whole.
TEST_CASE("the groups of a built-in file together are the file") {
    for (const EmbeddedCalibration& file : embedded_calibrations()) {
        CAPTURE(file.machine);
        const auto whole = parse_calibration(file.file(), file.machine);
        REQUIRE(whole);
        const auto group = [&](const ModelGroup& asked) {
            const auto read = parse_calibration(file.file(), file.machine, &asked);
            REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
            return *read;
        };
        std::set<CollectiveKind> kinds;
        for (const CalibratedCollective& model : whole->models) kinds.insert(model.key.kind);
        for (const CollectiveKind kind : kinds) {
            Calibration alone = *whole;
            alone.exchanges.clear();
            alone.kernels.clear();
            std::erase_if(alone.models, [&](const CalibratedCollective& model) { return model.key.kind != kind; });
            CHECK(group(models_of(kind)) == alone);
        }
        std::set<KernelKind> kernels;
        for (const CalibratedKernel& kernel : whole->kernels) kernels.insert(kernel.key.kind);
        for (const KernelKind kind : kernels) {
            Calibration alone = *whole;
            alone.models.clear();
            alone.exchanges.clear();
            std::erase_if(alone.kernels, [&](const CalibratedKernel& kernel) { return kernel.key.kind != kind; });
            CHECK(group(models_of_kernels(kind)) == alone);
        }
        Calibration exchanges = *whole;
        exchanges.models.clear();
        exchanges.kernels.clear();
        CHECK(group(models_of_exchanges()) == exchanges);
    }
}
