#include "app/system_option.hpp"

#include <fmt/format.h>

#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

namespace roofline {

namespace {

using Mesh = std::vector<MeshAxis>;

// The command line wins over the text, and says so.
Result<Mesh> mesh_of(const OpRequest& request, const Program& program, std::vector<std::string>& notes) {
    Mesh mesh;
    for (const std::string& text : request.mesh) {
        auto axes = parse_program("mesh " + text, "--mesh");
        if (!axes) return fail(axes.error());
        mesh.insert(mesh.end(), axes->mesh.begin(), axes->mesh.end());
    }
    if (mesh.empty()) return program.mesh;
    if (!program.mesh.empty() && program.mesh != mesh) {
        notes.push_back(
            fmt::format("mesh {} from the command line; the text says {}", mesh_text(mesh), mesh_text(program.mesh)));
    }
    return mesh;
}

Result<Machine> with_sets(Machine machine, const std::vector<std::string>& sets) {
    for (const std::string& set : sets) {
        if (auto status = set_figure(machine, set); !status) return fail(status.error());
    }
    return machine;
}

}  // namespace

Result<Machine> resolve_machine(const MachineRef& reference, const std::vector<std::string>& sets) {
    if (reference.unreadable) return fail(*reference.unreadable);
    auto machine = reference.toml ? parse_machine(*reference.toml, reference.name) : find_machine(reference.name);
    if (!machine) return machine;
    return with_sets(std::move(*machine), sets);
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
    auto machine = resolve_machine({name, reference.toml, {}, reference.unreadable}, sets);
    if (!machine) return fail(machine.error());
    return make_slice(std::move(*machine), shape);
}

Result<System> resolve_system(const MachineRef& reference, const OpRequest& request, const Program& program,
                              std::vector<std::string>& notes) {
    auto slice = resolve_slice(reference, request.sets);
    if (!slice) return fail(slice.error());
    System system;
    system.slice = std::move(*slice);
    system.collectives.textbook = request.textbook;
    notes.insert(notes.end(), system.slice.notes.begin(), system.slice.notes.end());
    auto mesh = mesh_of(request, program, notes);
    if (!mesh) return fail(mesh.error());
    if (mesh->empty() && program.sharded()) {
        return fail("no_mesh", "the program is split over a mesh, and there is none",
                    "name a slice and its mesh: --on tpu-v5e:4x4 --mesh X=4,Y=4");
    }
    if (!mesh->empty()) {
        auto placed = place_mesh(system.slice, *mesh);
        if (!placed) return fail(placed.error());
        system.mesh = std::move(*placed);
    } else if (system.slice.chips() > 1) {
        notes.push_back(fmt::format("no mesh: each of the {} chips does the same work", system.slice.chips()));
    }
    return system;
}

}  // namespace roofline
