// The available calibrations, of which only the requested parts are read.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/collective/stand_in.hpp"
#include "calibrate/kernel/library_launch.hpp"
#include "machine/embedded.hpp"

namespace roofline::core {

namespace {

/// Empty for a machine without a built-in file.
TomlNode built_in_file(std::string_view machine) {
    const auto files = embedded_calibrations();
    const auto file =
        std::find_if(files.begin(), files.end(), [&](const auto& each) { return each.machine == machine; });
    return file == files.end() ? TomlNode() : file->file();
}

Calibration read_built_in(std::string_view machine, const ModelGroup* group) {
    const TomlNode file = built_in_file(machine);
    if (!file) return {};
    // a test reads every built-in file
    auto parsed = parse_calibration(file, fmt::format("calibration/{}.toml", machine), group);
    if (!parsed) return {};
    add_launches(parsed->kernels);
    return std::move(*parsed);
}

}  // namespace

Calibrations::Calibrations(std::vector<Calibration> calibrations) {
    for (Calibration& calibration : calibrations) replace(std::move(calibration));
}

void Calibrations::replace(Calibration calibration) {
    most_similar_machines_.clear();
    libraries_.clear();
    std::string machine = calibration.machine;
    if (const Calibration* known = find(machine)) {
        if (calibration.models.empty()) calibration.models = known->models;
        if (calibration.exchanges.empty()) calibration.exchanges = known->exchanges;
        if (calibration.kernels.empty()) calibration.kernels = known->kernels;
    }
    add_launches(calibration.kernels);
    by_machine_.insert_or_assign(std::move(machine), File{std::move(calibration), {}});
}

void Calibrations::replace(const ServerModels& models) {
    for (const CalibratedServer& server : models.servers) {
        std::erase_if(servers_.servers,
                      [&](const CalibratedServer& known) { return same_library(known.software, server.software); });
        servers_.servers.push_back(server);
    }
}

void Calibrations::replace(const PassModels& models) {
    for (const PassFamily& family : models.families) {
        std::erase_if(passes_.families, [&](const PassFamily& known) { return known.software == family.software; });
    }
    passes_.families.insert(passes_.families.end(), models.families.begin(), models.families.end());
}

Status Calibrations::replace(std::string_view text, std::string_view name) {
    if (holds_pass_models(text)) {
        ROOFLINE_TRY(const auto passes, parse_pass_models(text, name));
        replace(passes);
        return {};
    }
    if (holds_server_models(text)) {
        ROOFLINE_TRY(const auto servers, parse_server_models(text, name));
        replace(servers);
        return {};
    }
    ROOFLINE_TRY(auto calibration, parse_calibration(text, name));
    replace(std::move(calibration));
    return {};
}

Calibrations Calibrations::built_in() {
    Calibrations all;
    all.servers_ = built_in_servers();
    all.passes_ = built_in_passes();
    for (const EmbeddedCalibration& file : embedded_calibrations()) {
        all.by_machine_.try_emplace(std::string(file.machine));
    }
    return all;
}

std::vector<std::string> Calibrations::machines() const {
    std::vector<std::string> names;
    for (const auto& [machine, file] : by_machine_) names.push_back(machine);
    return names;
}

const Calibration* Calibrations::find(std::string_view machine) {
    const auto found = by_machine_.find(machine);
    if (found == by_machine_.end()) return nullptr;
    std::optional<Calibration>& whole = found->second.whole;
    if (!whole) whole = read_built_in(machine, nullptr);
    return &*whole;
}

Calibrations::Part& Calibrations::part(File& file, std::string_view machine, const ModelGroup& group) {
    const auto [place, added] = file.parts.try_emplace(group);
    Part& part = place->second;
    if (!added) return part;
    part.models = models_in(built_in_file(machine), group);
    for (const TomlNode model : part.models) part.fabrics.push_back(innermost(text_in(model, "tiers")));
    return part;
}

const Calibration* Calibrations::find(std::string_view machine, const ModelGroup& group) {
    const auto found = by_machine_.find(machine);
    if (found == by_machine_.end()) return nullptr;
    File& file = found->second;
    if (file.whole) return &*file.whole;
    Part& part = Calibrations::part(file, machine, group);
    if (!part.read) part.read = read_built_in(machine, &group);
    return &*part.read;
}

bool Calibrations::may_have_fabric(std::string_view machine, const ModelGroup& group, std::string_view tiers) {
    const auto found = by_machine_.find(machine);
    if (found == by_machine_.end() || found->second.whole) return true;
    const Part& part = Calibrations::part(found->second, machine, group);
    return std::find(part.fabrics.begin(), part.fabrics.end(), innermost(tiers)) != part.fabrics.end();
}

bool Calibrations::may_have_switch_models(std::string_view machine, const ModelGroup& group) {
    const auto found = by_machine_.find(machine);
    if (found == by_machine_.end() || found->second.whole) return true;
    const Part& part = Calibrations::part(found->second, machine, group);
    return std::any_of(part.models.begin(), part.models.end(),
                       [](TomlNode model) { return text_in(model, "topology") == compared_topology; });
}

void Calibrations::compare(std::vector<std::string> machines) {
    compared_ = std::move(machines);
    libraries_.clear();
}

std::vector<KernelKey> Calibrations::kernel_keys(std::string_view machine, KernelKind kind) {
    std::vector<KernelKey> keys;
    const auto found = by_machine_.find(machine);
    if (found == by_machine_.end()) return keys;
    if (found->second.whole) {
        for (const CalibratedKernel& kernel : found->second.whole->kernels) keys.push_back(kernel.key);
    } else {
        for (const TomlNode model : part(found->second, machine, models_of_kernels(kind)).models) {
            keys.push_back({kind, std::string(text_in(model, "dtype")), std::string(text_in(model, "software")),
                            std::string(text_in(model, "variant"))});
        }
    }
    return keys;
}

const std::vector<std::string>& Calibrations::libraries(const KernelKey& key) {
    const auto [place, added] = libraries_.try_emplace({key.kind, key.dtype});
    if (!added) return place->second;
    // number of machines with the library, among the compared machines and among all
    std::map<std::string, std::pair<int, int>> votes;
    for (const std::string& machine : machines()) {
        std::vector<std::string> names;
        for (const KernelKey& each : kernel_keys(machine, key.kind)) {
            if (each.kind != key.kind || each.dtype != key.dtype || each.software.empty() || launched_by_host(each))
                continue;
            names.push_back(each.software.substr(0, each.software.find(' ')));
        }
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        const bool compared = std::find(compared_.begin(), compared_.end(), machine) != compared_.end();
        for (const std::string& name : names) {
            votes[name].first += compared ? 1 : 0;
            votes[name].second += 1;
        }
    }
    for (const auto& [name, count] : votes) place->second.push_back(name);
    std::sort(place->second.begin(), place->second.end(), [&](const std::string& a, const std::string& b) {
        return votes[a] != votes[b] ? votes[a] > votes[b] : a < b;
    });
    return place->second;
}

std::vector<std::string> Calibrations::software(std::string_view machine) {
    const Calibration* calibration = find(machine);
    const bool own = calibration != nullptr && !calibration->models.empty();
    std::vector<std::string> names;
    for (const std::string& each : machines()) {
        if (own && each != machine) continue;
        for (const CalibratedCollective& model : find(each)->models) {
            if (!model.key.software.empty()) names.push_back(model.key.software);
        }
        for (const CalibratedExchange& exchange : find(each)->exchanges) {
            if (!exchange.key.software.empty()) names.push_back(exchange.key.software);
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

}  // namespace roofline::core
