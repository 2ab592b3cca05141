#include "calibrate/calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/approx_test.hpp"
#include "bound/network_pricing.hpp"
#include "machine/catalogue.hpp"
#include "machine/embedded.hpp"

using namespace roofline::core;

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

constexpr const char* kernels = R"(machine = "m"

[[kernel]]
kind = "contraction"
dtype = "bf16"
software = "vllm 0.14.0"
rows = 120
left_out = 3
sources = ["by hand"]
time_us = [2.5, 8000]
error_fitted = 0.05
error_held_out = 0.06
error_of_bound = 0.5
fixed_us = 2.25
ramp_ns = 0.75
math = 0.8
memory = 0.9
p = 3.5

[[kernel]]
kind = "elementwise"
rows = 20
sources = []
time_us = [1, 10]
error_held_out = 0.1
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
    REQUIRE(read->models.size() == 1);
    const CalibratedCollective& model = read->models.front();
    CHECK(model.key.kind == CollectiveKind::all_gather);
    CHECK(model.link.bytes_per_s == approx(450e9));
    CHECK(model.members == std::vector<std::int64_t>{2, 4, 8});
    CHECK(model.model.shared.steps == StepCount::logarithmic);
    CHECK(model.model.shared.segments.front().base_s == approx(5.5e-6));
    CHECK(model.model.shared.segments.front().link == 0.75);
    REQUIRE(model.model.shared.limit);
    CHECK(*model.model.shared.limit == CurveLimit{4096, true});
    CHECK(model.model.shared.beyond.front().buffer == 1.5);
    CHECK(model.model.counted.front().members == 4);
    CHECK_FALSE(model.errors.members);
}

TEST_CASE("what is written is read back") {
    auto calibration = parse_calibration(small, "m.toml");
    REQUIRE(calibration);
    CalibratedCollective& model = calibration->models.front();
    model.key.variant = "custom graph";
    model.key.dtypes = "integer";
    model.errors.members = 0.125;
    model.errors.far = 0.5;
    model.sources = {"quotes \" and \\, an umlaut \xc3\xbc"};
    model.model.shared.segments.front() = {1.0 / 3e6, 0, 2.0 / 3, 0, 12345.678};
    const CollectiveModel written = rounded(model.model);
    CHECK(written.shared.segments.front().link == 0.6667);
    const auto again = parse_calibration(calibration_text(*calibration), "again.toml");
    REQUIRE_MESSAGE(again, again.error().message);
    model.model = written;
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

TEST_CASE("models of kernels are read, strictly, and written as they were") {
    const auto read = parse_calibration(kernels, "m.toml");
    REQUIRE_MESSAGE(read, read.error().message);
    REQUIRE(read->kernels.size() == 2);
    const CalibratedKernel& matmul = read->kernels.front();
    CHECK(matmul.key == KernelKey{KernelKind::contraction, "bf16", "vllm 0.14.0", ""});
    CHECK(matmul.fit.rows == 120);
    CHECK(matmul.fit.model.fixed_s == approx(2.25e-6));
    CHECK(matmul.fit.model.ramp_s == approx(0.75e-9));
    CHECK(matmul.fit.model.math == 0.8);
    CHECK(matmul.fit.model.vector == 1);
    CHECK(matmul.fit.model.memory == 0.9);
    CHECK(matmul.fit.model.p == 3.5);
    CHECK(matmul.fit.most_s == approx(8e-3));
    // parameters that the file omits have the values of the lower bound
    CHECK(read->kernels.back().fit.model == KernelModel{});
    const auto again = parse_calibration(calibration_text(*read), "again.toml");
    REQUIRE_MESSAGE(again, again.error().message);
    CHECK(again->kernels.front() == matmul);
    CHECK(again->kernels.back().fit.model == KernelModel{});

    Calibration tiled = *read;
    tiled.kernels.front().key.kind = KernelKind::attention;
    KernelFit& fit = tiled.kernels.front().fit;
    fit.error_transferred = 0.25;
    fit.model.write = 0.5;
    fit.model.warm = 0.2;
    fit.model.cache = 1.5;
    fit.model.tiled = true;
    fit.model.split_s = 2e-6;
    fit.model.wave_s = 0.5e-6;
    fit.model.partial = 3;
    fit.model.core_Bps = 25e9;
    fit.model.by_rows = true;
    fit.model.row_s = 0.25e-6;
    fit.model.share = 32;
    fit.model.reread = 3.5;
    fit.model.hidden = true;
    fit.bands = {{1, {KernelModel{2e-6, 0, 1, 1, 0.5}, {}}}, {32, {fit.model, {}}}};
    SizeFactors& of_heads = fit.bands.back().sized.factors;
    of_heads.powers = {{{0, 0}, {3, 3}, {4, 4}, {0, 1}}};
    of_heads.logs = {log_of(900), log_of(1100)};
    fit.factors.powers = {{{1, 2}, {3, 3}, {4, 6}, {0, 0}}};
    for (const int thousandth : {1000, 1250, 800, 1, 100'000, 999}) fit.factors.logs.push_back(log_of(thousandth));
    const std::string text = calibration_text(tiled);
    CHECK(text.find("m = [4, 16]\nn = [64, 64]\ndepth = [256, 4096]\nbatch = [1, 1]\n") != std::string::npos);
    const auto tiled_again = parse_calibration(calibration_text(tiled), "again.toml");
    REQUIRE_MESSAGE(tiled_again, tiled_again.error().message);
    CHECK(tiled_again->kernels.front() == tiled.kernels.front());
    // the same number of grid points at powers of two
    const std::string finer =
        with(with(text, "m = [4, 16]", "doublings = 1\nm = [4, 8]"), "depth = [256, 4096]", "depth = [256, 1024]");
    REQUIRE(parse_calibration(finer, "finer.toml"));
    const auto wrong_factors = [&](const std::string& from, const std::string& to) {
        const auto wrong = parse_calibration(with(text, from, to), "m.toml");
        REQUIRE_FALSE(wrong);
        return wrong.error().code;
    };
    CHECK(wrong_factors("m = [4, 16]", "m = [4, 64]") == "wrong_type");  // requires three more numbers
    CHECK(wrong_factors("m = [4, 16]", "m = [16, 4]") == "out_of_order");
    CHECK(wrong_factors("m = [4, 16]", "m = [4, 17]") == "out_of_range");
    CHECK(wrong_factors("m = [4, 16]", "doublings = 1\nm = [4, 16]") == "wrong_type");
    CHECK(wrong_factors("m = [4, 16]", "doublings = 3\nm = [4, 16]") == "out_of_range");
    CHECK(wrong_factors("1250 ", "0 ") == "wrong_type");
    CHECK(wrong_factors("1250 ", "8x ") == "wrong_type");
    CHECK(wrong_factors("1250 ", "100001 ") == "wrong_type");
    CHECK(wrong_factors("1250 ", "99999999999999999999 ") == "wrong_type");
    CHECK(wrong_factors("1250 ", "") == "wrong_type");
    CHECK(wrong_factors("n = [64, 64]", "k = [64, 64]") != "");
    CHECK(wrong_factors("kind = \"attention\"", "kind = \"contraction\"") == "out_of_place");
    // by both heads and rows
    CHECK(wrong_factors("[[kernel.heads]]\nmost = 32", "[[kernel.m]]\nmost = 32") == "out_of_place");
    CHECK(wrong_factors("most = 32", "most = 1") == "out_of_range");
    CHECK(wrong_factors("most = 32", "most = 0") == "out_of_range");
    CHECK(wrong_factors("most = 32", "least = 32") == "missing_key");
    CHECK(wrong_factors("\"900 1100\"", "\"900\"") == "wrong_type");

    tiled.kernels.front().key.kind = KernelKind::windowed_attention;
    fit.by = BandsBy::n;
    fit.whole = true;
    const std::string by_size = calibration_text(tiled);
    CHECK(by_size.find("[[kernel.n]]\nmost = 32\n") != std::string::npos);
    const auto sizes_again = parse_calibration(by_size, "again.toml");
    REQUIRE_MESSAGE(sizes_again, sizes_again.error().message);
    CHECK(sizes_again->kernels.front() == tiled.kernels.front());
    const auto no_heads =
        parse_calibration(with(by_size, "kind = \"windowed attention\"", "kind = \"contraction\""), "m.toml");
    REQUIRE_FALSE(no_heads);
    CHECK(no_heads.error().code == "out_of_place");

    tiled.kernels.front().key.kind = KernelKind::grouped_contraction;
    fit.whole = false;
    fit.by = BandsBy::m;
    const std::string by_rows = calibration_text(tiled);
    CHECK(by_rows.find("[[kernel.m]]\nmost = 32\n") != std::string::npos);
    const auto rows_again = parse_calibration(by_rows, "again.toml");
    REQUIRE_MESSAGE(rows_again, rows_again.error().message);
    CHECK(rows_again->kernels.front() == tiled.kernels.front());
    const auto no_rows =
        parse_calibration(with(by_rows, "kind = \"grouped contraction\"", "kind = \"elementwise\""), "m.toml");
    REQUIRE_FALSE(no_rows);
    CHECK(no_rows.error().code == "out_of_place");

    const auto error = [](const std::string& text) {
        const auto wrong = parse_calibration(text, "m.toml");
        REQUIRE_FALSE(wrong);
        return std::to_string(wrong.error().place->line) + " " + wrong.error().code;
    };
    CHECK(error(with(kernels, "contraction", "convolution")).starts_with("4 "));
    CHECK(error(with(kernels, "math = 0.8", "math = 1.1")) == "16 out_of_range");
    CHECK(error(with(kernels, "math = 0.8", "maths = 0.8")) == "16 unknown_key");
    CHECK(error(with(kernels, "p = 3.5", "p = 0.5")) == "18 out_of_range");
    CHECK(error(with(kernels, "p = 3.5", "write = 1.5")) == "18 out_of_range");
    CHECK(error(with(kernels, "p = 3.5", "split_us = 1")) == "18 unknown_key");  // only for models with tiles
    CHECK(error(with(kernels, "p = 3.5", "by_rows = true")) == "18 unknown_key");
    // only for models whose heads share keys
    CHECK(error(with(kernels, "p = 3.5", "reread = 2")) == "18 unknown_key");
    CHECK(error(with(kernels, "p = 3.5", "share = 0")) == "18 out_of_range");
    CHECK(error(with(kernels, "[2.5, 8000]", "[8000, 2.5]")) == "10 wrong_type");
    CHECK(error(with(kernels, "error_held_out = 0.06\n", "")) == "3 missing_key");
    CHECK(error(with(kernels, "kind = \"elementwise\"",
                     "kind = \"contraction\"\ndtype = \"bf16\"\nsoftware = \"vllm 0.14.0\"")) == "21 duplicate");
}

TEST_CASE("a machine file carries constants of its own") {
    const std::string machine =
        "id = \"mine\"\nname = \"Mine\"\n[[matmul]]\ndtype = \"f32\"\nvalue = \"1 TFLOP/s\"\nbasis = "
        "\"measured\"\nsource = \"here\"\n";
    const auto without_any = parse_machine_calibration(machine, "mine.toml");
    REQUIRE(without_any);
    CHECK_FALSE(*without_any);
    auto calibration = parse_calibration(kernels, "m.toml");
    REQUIRE(calibration);
    calibration->models = parse_calibration(small, "m.toml")->models;
    const std::string whole = machine + machine_calibration_text(*calibration);
    const auto read = parse_machine_calibration(whole, "mine.toml");
    REQUIRE_MESSAGE(read, read.error().message);
    REQUIRE(*read);
    CHECK((*read)->machine == "mine");
    CHECK((*read)->models == calibration->models);
    CHECK((*read)->kernels.front() == calibration->kernels.front());
    // the file also parses as a machine
    const auto parsed = parse_machine(whole, "mine.toml");
    REQUIRE_MESSAGE(parsed, parsed.error().message);
    CHECK(parsed->id == "mine");
    const auto wrong = parse_machine_calibration(with(whole, "math = 0.8", "math = 8"), "mine.toml");
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == "out_of_range");
    CHECK_FALSE(parse_machine("calibration = 3\n" + machine, "mine.toml"));
}

TEST_CASE("the files that are built in are sound, and meant for the rates that the machines' files have") {
    CHECK(embedded_calibrations().size() > 10);
    for (const EmbeddedCalibration& file : embedded_calibrations()) {
        CAPTURE(file.machine);
        const auto read = parse_calibration(file.file(), file.machine);
        REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
        const auto machine = find_machine(file.machine);
        REQUIRE(machine);
        for (const CalibratedCollective& model : read->models) {
            const NetworkTier* tier = machine->tier(model.key.tiers.substr(0, model.key.tiers.find('+')));
            REQUIRE(tier != nullptr);
            CHECK(tier->topology == model.link.topology);
            const auto rate = rate_of(*tier);
            REQUIRE(rate);
            // a system may have other network cards than the machine's file; the links inside a node are those of the
            // machine
            if (tier->topology != "nic") CHECK(rate->value == approx(model.link.bytes_per_s).epsilon(1e-3));
            CHECK(model.errors.fitted > 0);
            CHECK(model.errors.sizes > 0);
        }
    }
}
