#include "app/system_option.hpp"

#include <fmt/format.h>

#include "app/user_program.hpp"
#include "import/system_names.hpp"
#include "machine/catalogue.hpp"
#include "predict/predict.hpp"

namespace roofline::core {

namespace {

Result<Machine> with_sets(Machine machine, const std::vector<std::string>& sets) {
    for (const std::string& set : sets) {
        ROOFLINE_CHECK(set_figure(machine, set));
    }
    return machine;
}

}  // namespace

Result<Machine> resolve_machine(const MachineRef& reference, const std::vector<std::string>& sets) {
    if (reference.unreadable) return fail(*reference.unreadable);
    ROOFLINE_TRY(auto machine,
                 reference.toml ? parse_machine(*reference.toml, reference.name) : find_machine(reference.name));
    return with_sets(std::move(machine), sets);
}

bool names_slice(const MachineRef& reference) {
    return !reference.slice.empty() || (!reference.toml && reference.name.find(':') != std::string::npos);
}

Result<Slice> resolve_slice(const MachineRef& reference, const std::vector<std::string>& sets) {
    const std::size_t colon = reference.toml ? std::string::npos : reference.name.find(':');
    const std::string name = reference.name.substr(0, colon);
    const std::string shape = !reference.slice.empty() ? reference.slice
                              : names_slice(reference) ? reference.name.substr(colon + 1)
                                                       : "1";
    ROOFLINE_TRY(auto machine, resolve_machine({name, reference.toml, {}, reference.unreadable}, sets));
    return make_slice(std::move(machine), shape);
}

Result<std::optional<SystemOverride>> measured_on(const std::vector<MachineRef>& machines,
                                                  const std::vector<std::string>& sets) {
    if (machines.size() > 1) {
        return fail("bad_request", "a table was measured on one machine, but several are given", "name one");
    }
    if (machines.empty()) {
        if (sets.empty()) return std::nullopt;
        return fail("bad_request", "--set changes a machine, but none is given", "for example --on h100-sxm");
    }
    MachineRef reference = machines.front();
    const std::size_t colon = reference.toml ? std::string::npos : reference.name.find(':');
    if (colon != std::string::npos) {
        reference.slice = reference.name.substr(colon + 1);
        reference.name.resize(colon);
    }
    auto machine = resolve_machine({reference.name, reference.toml, {}, reference.unreadable}, sets);
    if (!machine && !reference.toml) {
        // A name that tables use, such as a100_sxm, may denote one of two chips.
        ROOFLINE_TRY(const auto names, SystemNames::built_in());
        if (const auto named = names.named(reference.name)) {
            std::vector<std::string> all = named->sets;
            all.insert(all.end(), sets.begin(), sets.end());
            machine = find_machine(named->machine, all);
        }
    }
    if (!machine) return fail(machine.error());
    return SystemOverride{std::move(*machine), reference.slice};
}

Result<SystemOverride> recorded_on(const std::vector<MachineRef>& machines, const std::vector<std::string>& sets) {
    ROOFLINE_TRY(auto on, measured_on(machines, sets));
    if (!on) {
        return fail("no_machine", "a profile does not say on which machine it was recorded",
                    "name it: --on h100-sxm, or with its slice --on h100-sxm:8");
    }
    return std::move(*on);
}

Result<MeasuredSystems> measured_systems(const std::vector<MachineRef>& machines,
                                         const std::vector<std::string>& sets) {
    ROOFLINE_TRY(auto on, measured_on(machines, sets));
    return MeasuredSystems::make(std::move(on));
}

Result<System> resolve_system(const MachineRef& reference, const OpRequest& request, const Program& program,
                              std::vector<std::string>& notes) {
    ROOFLINE_TRY(auto slice, resolve_slice(reference, request.sets));
    ROOFLINE_TRY(const auto mesh, named_mesh(request.mesh));
    return make_system(std::move(slice), mesh, {request.textbook}, program, notes);
}

}  // namespace roofline::core
