#include "calibrate/server/server_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/server/server_memory.hpp"
#include "machine/embedded.hpp"
#include "machine/machine_text.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_rows = 1'000'000'000;

CalibratedServer read_server(Reader& table) {
    CalibratedServer server;
    server.software = table.required_text("software");
    server.models = table.texts("models");
    server.machines = table.texts("machines");
    server.sources = table.texts("sources");
    server.rows = table.whole("rows", 1, most_rows, 1);
    server.error_fitted = table.number("error_fitted", 0);
    server.error_held_out = table.number("error_held_out", 0);
    if (!table.has("error_held_out")) {
        table.fault("error_held_out", "missing_key", fmt::format("{} is missing", table.of("error_held_out")));
    }
    server.costs.kernels = table.number("kernels", 1);
    server.costs.step_s = table.number("step_us", 0) / 1e6;
    server.costs.sequence_s = table.number("sequence_us", 0) / 1e6;
    server.costs.launch_s = table.number("launch_us", 0) / 1e6;
    server.costs.wait_steps = table.number("wait_steps", 0);
    server.ttft_error_held_out = table.number("ttft_error_held_out", 0);
    server.platform = table.text("platform");
    table.finish();
    return server;
}

ServerElsewhere read_elsewhere(Reader& table) {
    ServerElsewhere elsewhere;
    elsewhere.software = table.required_text("software");
    elsewhere.platform = table.required_text("platform");
    elsewhere.rows = table.whole("rows", 1, most_rows, 1);
    elsewhere.models = table.texts("models");
    elsewhere.errors.tpot = table.number("error", 0);
    elsewhere.errors.ttft = table.number("ttft_error", 0);
    if (!table.has("error")) table.fault("error", "missing_key", fmt::format("{} is missing", table.of("error")));
    table.finish();
    return elsewhere;
}

std::string list_text(std::string_view key, const std::vector<std::string>& texts) {
    std::vector<std::string> quoted;
    for (const std::string& text : texts) quoted.push_back(toml_string(text));
    return fmt::format("{} = [{}]\n", key, fmt::join(quoted, ", "));
}

std::string server_text(const CalibratedServer& server) {
    std::string text =
        fmt::format("\n[[server]]\nsoftware = {}\nrows = {}\n", toml_string(server.software), server.rows);
    if (!server.platform.empty()) text += fmt::format("platform = {}\n", toml_string(server.platform));
    text += list_text("models", server.models) + list_text("machines", server.machines);
    text += list_text("sources", server.sources);
    // at least 1e-6, because an error of 0 would be read back as not measured
    text += fmt::format("error_fitted = {:.3g}\n", std::max(server.error_fitted, 1e-6));
    text += fmt::format("error_held_out = {:.3g}\n", std::max(server.error_held_out, 1e-6));
    const auto add = [&](std::string_view key, double value) {
        if (value > 0) text += fmt::format("{} = {:.4g}\n", key, value);
    };
    if (server.ttft_error_held_out > 0)
        text += fmt::format("ttft_error_held_out = {:.3g}\n", server.ttft_error_held_out);
    add("kernels", server.costs.kernels);
    add("step_us", server.costs.step_s * 1e6);
    add("sequence_us", server.costs.sequence_s * 1e6);
    add("launch_us", server.costs.launch_s * 1e6);
    add("wait_steps", server.costs.wait_steps);
    return text;
}

std::string elsewhere_text(const ServerElsewhere& elsewhere) {
    std::string text = fmt::format("\n[[elsewhere]]\nsoftware = {}\nplatform = {}\nrows = {}\n",
                                   toml_string(elsewhere.software), toml_string(elsewhere.platform), elsewhere.rows);
    text += list_text("models", elsewhere.models);
    text += fmt::format("error = {:.3g}\n", std::max(elsewhere.errors.tpot, 1e-6));
    if (elsewhere.errors.ttft > 0) text += fmt::format("ttft_error = {:.3g}\n", elsewhere.errors.ttft);
    return text;
}

// The measurements of a library on a platform to which no model of it was fitted; null if there are none.
const ServerElsewhere* measured_elsewhere(const ServerModels& models, std::string_view software,
                                          std::string_view platform) {
    const auto found = std::find_if(models.elsewhere.begin(), models.elsewhere.end(), [&](const ServerElsewhere& each) {
        return each.platform == platform && same_library(each.software, software);
    });
    return found == models.elsewhere.end() ? nullptr : &*found;
}

bool fitted_to(const CalibratedServer& server, std::string_view platform) {
    return server.platform.empty() || server.platform == platform;
}

// How well a model is known on a platform, and on how many measurements that rests.
std::pair<int, std::int64_t> known_on(const ServerModels& models, const CalibratedServer& server,
                                      std::string_view platform) {
    if (fitted_to(server, platform)) return {2, server.rows};
    const ServerElsewhere* const elsewhere = measured_elsewhere(models, server.software, platform);
    return elsewhere != nullptr ? std::pair(1, elsewhere->rows) : std::pair(0, server.rows);
}

}  // namespace

std::string platform_of(const Machine& machine) { return fmt::format("{} {}", machine.vendor, machine.kind); }

double step_seconds(const ServerModel& costs, const StepKernels& kernels, double sequences) {
    return std::max(costs.kernels * kernels.seconds, kernels.bound_s) + costs.step_s + costs.sequence_s * sequences;
}

double prompt_seconds(const ServerModel& costs, double kernels_s, double launches) {
    return std::max(kernels_s, costs.launch_s * launches);
}

const CalibratedServer* ServerModels::find(std::string_view software, std::string_view platform) const {
    const std::string_view vendor = platform.substr(0, platform.rfind(' '));
    const CalibratedServer* library = nullptr;
    for (const CalibratedServer& each : servers) {
        if (software.empty() ? !built_in_server_memories().runs_on(each.software, vendor)
                             : !same_library(each.software, software))
            continue;
        if (library == nullptr || known_on(*this, each, platform) > known_on(*this, *library, platform)) {
            library = &each;
        }
    }
    if (library == nullptr) return nullptr;
    const bool versioned = version_place(software) != std::string_view::npos;
    const CalibratedServer* best = nullptr;
    for (const CalibratedServer& each : servers) {
        if (version_place(each.software) == std::string_view::npos) continue;
        if (!same_library(each.software, library->software) || each.platform != library->platform) continue;
        if (versioned && !is_version(software, each.software)) continue;
        if (best == nullptr || older(best->software, each.software)) best = &each;
    }
    return best != nullptr ? best : library;
}

const CalibratedServer* ServerModels::find_or_usual(std::string_view software, std::string_view platform) const {
    const CalibratedServer* const named = software.empty() ? nullptr : find(software, platform);
    return named != nullptr ? named : find("", platform);
}

ServerErrors ServerModels::errors(const CalibratedServer& server, std::string_view platform) const {
    const ServerErrors held_out{server.error_held_out, server.ttft_error_held_out};
    if (platform.empty() || fitted_to(server, platform)) return held_out;
    const ServerElsewhere* const there = measured_elsewhere(*this, server.software, platform);
    if (there == nullptr) {
        return {std::max(held_out.tpot, untested_server_error), std::max(held_out.ttft, untested_server_error)};
    }
    return {there->errors.tpot,
            there->errors.ttft > 0 ? there->errors.ttft : std::max(held_out.ttft, untested_server_error)};
}

Result<ServerModels> parse_server_models(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    ServerModels server_models;
    server_models.fitted = file.text("fitted");
    for (Reader& table : file.each("server")) server_models.servers.push_back(read_server(table));
    for (Reader& table : file.each("elsewhere")) server_models.elsewhere.push_back(read_elsewhere(table));
    file.finish();
    ROOFLINE_CHECK(text.status());
    return server_models;
}

bool holds_server_models(std::string_view toml) {
    constexpr std::string_view table = "[[server]]";
    return toml.starts_with(table) || toml.find(fmt::format("\n{}", table)) != std::string_view::npos;
}

std::string server_models_text(const ServerModels& server_models) {
    std::string text =
        "# What servers add to the kernels of their passes: docs/method/serving.md. `roofline fit` makes this file of "
        "tables of served\n"
        "# models.\n";
    if (!server_models.fitted.empty()) text += fmt::format("fitted = {}\n", toml_string(server_models.fitted));
    for (const CalibratedServer& server : server_models.servers) text += server_text(server);
    for (const ServerElsewhere& each : server_models.elsewhere) text += elsewhere_text(each);
    return text;
}

const ServerModels& built_in_servers() {
    // a test reads this file; if it were invalid, servers would have no expected times
    static const ServerModels server_models = [] {
        auto read = parse_server_models(embedded_servers(), "servers.toml");
        return read ? std::move(*read) : ServerModels{};
    }();
    return server_models;
}

}  // namespace roofline::core
