#include "app/calibration_option.hpp"

#include <fmt/format.h>

#include <utility>

#include "calibrate/server/server_model.hpp"
#include "machine/catalogue.hpp"

namespace roofline::core {

Result<Calibrations> resolve_calibrations(const CalibrationRef& reference, const std::vector<MachineRef>& machines) {
    Calibrations calibrations = reference.none ? Calibrations(std::vector<Calibration>{}) : Calibrations::built_in();
    for (const MachineRef& machine : machines) {
        if (!machine.toml || reference.none) continue;
        ROOFLINE_TRY(auto own, parse_machine_calibration(*machine.toml, machine.name));
        if (own) calibrations.replace(std::move(*own));
    }
    for (const NamedText& file : reference.files) {
        ROOFLINE_CHECK(calibrations.replace(file.text, file.name));
    }
    std::vector<std::string> beside;
    for (const std::string& name : reference.beside) {
        const auto machine = find_machine(name.substr(0, name.find(':')));
        beside.push_back(machine ? machine->id : name);
    }
    calibrations.compare(std::move(beside));
    return calibrations;
}

Status check_no_servers(const CalibrationRef& reference) {
    for (const NamedText& file : reference.files) {
        if (!holds_server_models(file.text)) continue;
        return fail("bad_request",
                    fmt::format("{} contains server models, but this command serves no model", file.name),
                    "leave it out; `roofline serve` and `roofline validate` use it");
    }
    return {};
}

}  // namespace roofline::core
