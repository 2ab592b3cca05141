#include "predict/compare/measured_systems.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "bound/network_pricing.hpp"
#include "machine/catalogue.hpp"
#include "network/slice_shapes.hpp"

namespace roofline::core {

namespace {

// Tables of real measurements have a few hundred, and each takes some memory.
constexpr std::size_t max_systems = 10'000;

Result<System> one_group(Machine machine, std::string_view shape) {
    ROOFLINE_TRY(auto slice, make_slice(std::move(machine), shape));
    System system;
    system.slice = std::move(slice);
    ROOFLINE_TRY(system.mesh, place_mesh(system.slice, {{"all", system.slice.chips()}}));
    return system;
}

// The load of all chips together. If the collective has a root, it is the first chip; a send goes to the second.
Result<CollectiveLoad> load_on(const System& system, CollectiveKind kind) {
    const PlacedAxis& all = system.mesh.front();
    if (!has_root(kind)) return collective_load(system.slice, kind, {&all}, system.collectives);
    Message message;
    message.kind = kind;
    message.axes = {all.name};
    const Ends ends = info(kind).ends;
    if (ends != Ends::all_to_one) message.from = {{all.name, 0}};
    if (ends != Ends::one_to_all) message.to = {{all.name, ends == Ends::one_to_one ? 1 : 0}};
    return load_of(message, system);
}

std::string count_text(std::int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

tl::unexpected<Error> not_the_slice(std::int64_t members, const System& system) {
    return fail("other_size",
                fmt::format("{} are not the {} of {}:{}", count_text(members, "device"),
                            count_text(system.slice.chips(), "chip"), system.machine().id, system.slice.shape_text()));
}

/// Returns the members of each tier inside one node of a machine, up to the network cards, as far as its file says.
std::vector<std::int64_t> node_of(const Machine& machine) {
    std::vector<std::int64_t> node;
    std::int64_t inside = 1;
    for (const NetworkTier& tier : machine.network) {
        if (tier.topology == "nic" || has_axes(tier)) break;
        const std::int64_t domain = tier.topology == "pair" ? 2 : tier.domain;
        if (tier.topology == "none" || domain <= inside) continue;
        node.push_back(domain / inside);
        inside = domain;
    }
    return node;
}

}  // namespace

std::string MeasuredSystem::slice() const { return system.machine().id + ":" + system.slice.shape_text(); }

Result<MeasuredSystems> MeasuredSystems::make(std::optional<SystemOverride> on) {
    MeasuredSystems systems;
    ROOFLINE_TRY(systems.names_, SystemNames::built_in());
    if (on && !on->shape.empty()) {
        ROOFLINE_CHECK(make_slice(on->machine, on->shape));
    }
    systems.on_ = std::move(on);
    return systems;
}

const Result<System>& MeasuredSystems::chip(const std::string& name) {
    auto found = chips_.find(name);
    if (found == chips_.end() && chips_.size() >= max_systems) {
        static const Result<System> too_many =
            fail("too_many_systems", fmt::format("the table has more than {} systems", max_systems));
        return too_many;
    }
    if (found == chips_.end()) found = chips_.emplace(name, one_chip(name)).first;
    return found->second;
}

Result<System> MeasuredSystems::one_chip(const std::string& name) {
    const auto alone = [](Machine machine) -> Result<System> {
        System system;
        ROOFLINE_TRY(system.slice, make_slice(std::move(machine), "1"));
        return system;
    };
    if (on_) return alone(on_->machine);
    const auto named = names_.named(name);
    const Result<Machine>& machine = named ? this->machine(named->machine, named->sets) : this->machine(name, {});
    if (!machine) return fail(machine.error());
    return alone(*machine);
}

const Result<MeasuredSystem>& MeasuredSystems::slice_of(const std::string& name, std::int64_t chips,
                                                        std::int64_t slices) {
    const std::tuple key{name, chips, slices};
    auto found = slices_.find(key);
    if (found == slices_.end() && slices_.size() >= max_systems) {
        static const Result<MeasuredSystem> too_many =
            fail("too_many_systems", fmt::format("the table has more than {} systems", max_systems));
        return too_many;
    }
    if (found == slices_.end()) found = slices_.emplace(key, even_slice(name, chips, slices)).first;
    return found->second;
}

Result<MeasuredSystem> MeasuredSystems::even_slice(const std::string& name, std::int64_t chips, std::int64_t slices) {
    const auto one = chip(name);
    if (!one)
        return fail("unknown_system", fmt::format("the system {} is not known", in_ticks(name)), one.error().hint);
    const Machine& machine = one->machine();
    const bool torus = !machine.network.empty() && has_axes(machine.network.front());
    if (torus && (!on_ || on_->shape.empty())) {
        const std::int64_t count = std::max<std::int64_t>(slices, 1);
        Result<Slice> slice = fail("no_shape", "");
        if (chips % count == 0) slice = slice_of_chips(machine, chips / count);
        if (slice && (count == 1 || slice->tiers.size() < 2)) {
            const std::string times = count > 1 ? fmt::format("*{}", count) : "";
            ROOFLINE_TRY(auto system, one_group(machine, slice->shape_text() + times));
            return MeasuredSystem{machine.id, std::move(system), {}};
        }
        return fail("no_shape",
                    chips % count == 0
                        ? fmt::format("no usual slice of {} has {} chips", machine.name, chips / count)
                        : fmt::format("{} chips of {} do not divide into {} slices", chips, machine.name, count));
    }
    Result<MeasuredSystem> found = fail("bad_system", "");
    constexpr std::int64_t max_nodes = 100'000;
    for (std::int64_t nodes = 1; nodes <= std::min(chips, max_nodes); ++nodes) {
        if (chips % nodes != 0) continue;
        found = wire({name, "", chips, nodes});
        if (found) return found;
        // The nodes of a system may be trays of one NVLink domain; the slice then consists of several such domains.
        const std::string shape = on_ ? "" : node_shape(node_of(machine), chips, nodes);
        if (shape.empty()) continue;
        auto system = one_group(machine, shape);
        if (system) return MeasuredSystem{machine.id, std::move(*system), {}};
    }
    return found;
}

const Result<MeasuredGroup>& MeasuredSystems::group(const MeasuredCollective& row) {
    const Place place{row.system, row.link, row.members, row.nodes};
    const std::pair key{place, row.kind};
    auto found = groups_.find(key);
    if (found == groups_.end() && systems_.size() >= max_systems) {
        static const Result<MeasuredGroup> too_many =
            fail("too_many_systems", fmt::format("the table has more than {} systems", max_systems));
        return too_many;
    }
    if (found == groups_.end()) found = groups_.emplace(key, price(row, place)).first;
    return found->second;
}

Result<MeasuredGroup> MeasuredSystems::price(const MeasuredCollective& row, const Place& place) {
    const Result<MeasuredSystem>& on = system(place);
    if (!on) return fail(on.error());
    for (const auto& [operation, reason] : on->left_out) {
        if (operation == collective_name(row.kind)) {
            return fail("left_out",
                        fmt::format("{} on {} is left out: {}", collective_name(row.kind, true), on->id, reason));
        }
    }
    MeasuredGroup group{&*on, {}};
    ROOFLINE_TRY(auto load, load_on(on->system, row.kind));
    group.load = std::move(load);
    for (const TierLoad& tier : group.load.tiers) {
        const NetworkTier& network = on->system.slice.network(on->system.slice.tiers[tier.tier]);
        if (rate_of(network)) continue;
        return fail("no_rate",
                    fmt::format("the {} bandwidth of {} is not published", network.label, on->system.machine().name));
    }
    return group;
}

const Result<MeasuredSystem>& MeasuredSystems::system(const Place& place) {
    auto found = systems_.find(place);
    if (found == systems_.end()) found = systems_.emplace(place, wire(place)).first;
    return found->second;
}

Result<MeasuredSystem> MeasuredSystems::wire(const Place& place) {
    if (!on_) return wire_named(place);
    ROOFLINE_TRY(auto shape, on_->shape.empty() ? shape_on(on_->machine, place) : Result<std::string>(on_->shape));
    ROOFLINE_TRY(auto system, one_group(on_->machine, shape));
    if (system.slice.chips() != place.members) {
        return not_the_slice(place.members, system);
    }
    return MeasuredSystem{on_->machine.id, std::move(system), {}};
}

// Resolves a name of data/systems.toml, or else a machine of the catalogue or a slice of one.
Result<MeasuredSystem> MeasuredSystems::wire_named(const Place& place) {
    auto named = names_.find(place.system, place.link, place.members, place.nodes);
    if (!named && named.error().code == "unknown_system") {
        const std::size_t colon = place.system.find(':');
        const Result<Machine>& machine = this->machine(place.system.substr(0, colon), {});
        if (!machine) return fail(named.error());
        named = NamedSystem{machine->id, machine->id, {}, {}, {}, {}, {}};
        ROOFLINE_TRY(named->shape, colon == std::string::npos ? shape_on(*machine, place)
                                                              : Result<std::string>(place.system.substr(colon + 1)));
    }
    if (!named) return fail(named.error());
    const Result<Machine>& machine = this->machine(named->machine, named->sets);
    if (!machine) return fail(machine.error());
    ROOFLINE_TRY(auto system, one_group(*machine, named->shape));
    if (system.slice.chips() * named->devices_of_chip != place.members) {
        return not_the_slice(place.members, system);
    }
    MeasuredSystem measured{named->id, std::move(system), {}, named->groups_on_links, named->library, named->of_member};
    for (const std::string& operation : named->left_out)
        measured.left_out.emplace_back(operation, named->left_out_reason);
    return measured;
}

const Result<Machine>& MeasuredSystems::machine(const std::string& name, const std::vector<std::string>& sets) {
    const std::pair key{name, sets};
    auto found = machines_.find(key);
    if (found == machines_.end()) found = machines_.emplace(key, find_machine(name, sets)).first;
    return found->second;
}

/// Returns the shape of the place's devices on its nodes of a machine.
Result<std::string> MeasuredSystems::shape_on(const Machine& machine, const Place& place) const {
    if (const auto named = names_.find(machine.id, "", place.members, place.nodes)) return named->shape;
    if (!machine.network.empty() && has_axes(machine.network.front())) {
        return fail("no_shape", fmt::format("{} is a torus, but the table does not give its shape", machine.name),
                    fmt::format("give the slice: --on {}:4x4", machine.id));
    }
    const auto shape = node_shape(node_of(machine), place.members, place.nodes);
    if (shape.empty()) {
        return fail("bad_system", fmt::format("{} on {} do not fit {}", count_text(place.members, "device"),
                                              count_text(place.nodes, "node"), machine.name));
    }
    return shape;
}

std::int64_t MeasuredSystems::chips_of_node(const std::string& name) const {
    const auto named = names_.named(on_ ? on_->machine.id : name);
    if (named) return named->chips_of_node;
    const auto machine = on_ ? Result<Machine>(on_->machine) : find_machine(name);
    if (!machine) return 0;
    std::int64_t chips = 1;
    for (const std::int64_t members : node_of(*machine)) chips *= members;
    return chips;
}

std::vector<std::pair<std::string, Rate>> MeasuredSystems::rates() const {
    std::vector<std::pair<std::string, Rate>> rates;
    for (const auto& [key, group] : groups_) {
        if (!group) continue;
        for (const TierLoad& tier : group->load.tiers) {
            const System& system = group->on->system;
            auto rate = rate_of(system.slice.network(system.slice.tiers[tier.tier]));
            if (!rate) continue;
            const bool known = std::any_of(rates.begin(), rates.end(), [&](const auto& other) {
                return other.first == group->on->id && other.second.path == rate->path &&
                       other.second.value == rate->value;
            });
            if (!known) rates.emplace_back(group->on->id, std::move(*rate));
        }
    }
    return rates;
}

}  // namespace roofline::core
