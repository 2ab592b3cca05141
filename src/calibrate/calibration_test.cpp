#include "calibrate/calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "bound/network_pricing.hpp"
#include "machine/catalogue.hpp"
#include "machine/embedded.hpp"

using namespace roofline;

namespace {

constexpr const char* small = R"(machine = "m"
fitted = "2026-01-31"

[[law]]
operation = "all_gather"
software = "nccl 9.1"
tiers = "nvlink"
topology = "switch"
domain = 8
link_rate = "450 GB/s"
members = [2, 4, 8]
buffer_bytes = [512, 1000000]
rows = 40
sources = ["by hand"]
error_fitted = 0.03
error_sizes = 0.04
steps = "log"
segments = [{ base_us = 5.5, step_us = 1.25, link = 0.75 }]
limit_piece_bytes = 4096
beyond = [{ base_us = 20, buffer = 1.5 }]
[[law.count]]
members = 4
segments = [{ base_us = 7 }]
)";

std::string without(std::string text, std::string_view line) {
    const std::size_t at = text.find(line);
    REQUIRE(at != std::string::npos);
    return text.erase(at, text.find('\n', at) + 1 - at);
}

std::string with(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a calibration file is read") {
    const auto read = parse_calibration(small, "m.toml");
    REQUIRE_MESSAGE(read, read.error().message);
    REQUIRE(read->laws.size() == 1);
    const CalibratedLaw& law = read->laws.front();
    CHECK(law.key.kind == CollectiveKind::all_gather);
    CHECK(law.link.bytes_per_s == doctest::Approx(450e9));
    CHECK(law.members == std::vector<std::int64_t>{2, 4, 8});
    CHECK(law.law.shared.steps == StepCount::logarithmic);
    CHECK(law.law.shared.segments.front().base_s == doctest::Approx(5.5e-6));
    CHECK(law.law.shared.segments.front().link == 0.75);
    REQUIRE(law.law.shared.limit);
    CHECK(*law.law.shared.limit == LawLimit{4096, true});
    CHECK(law.law.shared.beyond.front().buffer == 1.5);
    CHECK(law.law.counted.front().members == 4);
    CHECK_FALSE(law.errors.members);
}

TEST_CASE("what is written is read back") {
    auto calibration = parse_calibration(small, "m.toml");
    REQUIRE(calibration);
    CalibratedLaw& law = calibration->laws.front();
    law.key.variant = "custom graph";
    law.key.dtypes = "integer";
    law.errors.members = 0.125;
    law.errors.far = 0.5;
    law.sources = {"quotes \" and \\, an umlaut \xc3\xbc"};
    law.law.shared.segments.front() = {1.0 / 3e6, 0, 2.0 / 3, 0, 12345.678};
    const CollectiveLaw written = rounded(law.law);
    CHECK(written.shared.segments.front().link == 0.6667);
    const auto again = parse_calibration(calibration_text(*calibration), "again.toml");
    REQUIRE_MESSAGE(again, again.error().message);
    law.law = written;
    CHECK(*again == *calibration);
}

TEST_CASE("a calibration file is read strictly") {
    const auto error = [](const std::string& text) {
        const auto read = parse_calibration(text, "m.toml");
        REQUIRE_FALSE(read);
        REQUIRE(read.error().place);
        return std::to_string(read.error().place->line) + " " + read.error().code;
    };
    CHECK(error("machine = ") == "1 toml");
    CHECK(error(without(small, "tiers")) == "4 missing_key");
    CHECK(error(without(small, "rows")) == "4 missing_key");
    CHECK(error(with(small, "all_gather", "all_gatherer")) == "5 unknown");
    CHECK(error(with(small, "450 GB/s", "450 GFLOP/s")) == "10 bad_value");
    CHECK(error(with(small, "[2, 4, 8]", "[4, 2, 8]")) == "11 out_of_order");
    CHECK(error(with(small, "[2, 4, 8]", "[1, 2]")) == "11 out_of_range");
    CHECK(error(with(small, "link = 0.75", "link = -1")) == "18 out_of_range");
    CHECK(error(with(small, "link = 0.75", "lnk = 0.75")).starts_with("18 unknown"));
    CHECK(error(without(small, "beyond")) == "4 missing_key");
    CHECK(error(with(small, "limit_piece_bytes = 4096", "limit_piece_bytes = 0")) == "19 out_of_range");
    CHECK(error(with(small, "[512, 1000000]", "[512]")) == "12 wrong_type");
}

TEST_CASE("the files that are built in are sound, and meant for the rates that the machines' files have") {
    CHECK(embedded_calibrations().size() > 10);
    for (const EmbeddedCalibration& file : embedded_calibrations()) {
        CAPTURE(file.machine);
        const auto read = parse_calibration(file.text, file.machine);
        REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
        CHECK(calibration_text(*read) == file.text);
        const auto machine = find_machine(file.machine);
        REQUIRE(machine);
        for (const CalibratedLaw& law : read->laws) {
            const NetworkTier* tier = machine->tier(law.key.tiers.substr(0, law.key.tiers.find('+')));
            REQUIRE(tier != nullptr);
            CHECK(tier->topology == law.link.topology);
            const auto rate = rate_of(*tier);
            REQUIRE(rate);
            // a system may have other network cards than the machine's file says; links inside a node are the machine's
            if (tier->topology != "nic") CHECK(rate->value == doctest::Approx(law.link.bytes_per_s).epsilon(1e-3));
            CHECK(law.errors.fitted > 0);
            CHECK(law.errors.sizes > 0);
        }
    }
}
