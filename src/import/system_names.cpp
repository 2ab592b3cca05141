#include "import/system_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/ascii.hpp"
#include "import/collective_table.hpp"
#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

bool same(std::string_view a, std::string_view b) { return lowered(a) == lowered(b); }

std::int64_t product(const std::vector<std::int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// Number of members of each tier of a node that `count` of its devices use, filling from the innermost tier; empty if
/// they cannot fill the tiers evenly.
std::vector<std::int64_t> filled(const std::vector<std::int64_t>& node, std::int64_t count) {
    std::vector<std::int64_t> taken;
    for (const std::int64_t size : node) {
        const std::int64_t here = std::min(size, count);
        if (here == 0 || count % here != 0) return {};
        taken.push_back(here);
        count /= here;
    }
    return count == 1 ? taken : std::vector<std::int64_t>{};
}

}  // namespace

std::string node_shape(const std::vector<std::int64_t>& node, std::int64_t members, std::int64_t nodes) {
    if (members < 1 || nodes < 1 || members % nodes != 0) return "";
    std::vector<std::int64_t> shape = filled(node, members / nodes);
    if (shape.size() < node.size()) return "";
    if (nodes > 1) shape.push_back(nodes);
    while (shape.size() > 1 && shape.back() == 1) shape.pop_back();
    return shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, "x"));
}

Result<SystemNames> SystemNames::parse(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    SystemNames names;
    for (Reader& table : file.each("system")) {
        Entry entry;
        entry.system.id = table.required_text("id");
        entry.system.machine = table.required_text("machine");
        entry.names = table.texts("names");
        entry.words = table.texts("words");
        entry.link = table.text("link");
        entry.members = table.whole("members", 1, 1'000'000'000, 0);
        entry.system.groups_on_links = table.whole("groups_on_links", 1, 1000, 1);
        entry.system.devices_of_chip = table.whole("devices_of_chip", 1, 1000, 1);
        for (const std::string& name : table.texts("bytes_of_member")) {
            if (const auto kind = collective_in(name)) {
                entry.system.of_member.push_back(*kind);
            } else {
                table.fault("bytes_of_member", "bad_value", fmt::format("no collective is called {}", in_ticks(name)));
            }
        }
        entry.system.library = table.text("library");
        entry.node = table.shape("node");
        entry.system.shape = table.text("shape");
        entry.system.sets = table.texts("set");
        entry.trays = table.has("tray");
        entry.system.chips_of_node = table.whole("tray", 1, 1'000'000, entry.node.empty() ? 0 : product(entry.node));
        entry.system.note = table.text("note");
        entry.system.left_out = table.texts("leave_out");
        entry.system.left_out_reason = table.text("leave_out_reason");
        if (entry.system.left_out.empty() != entry.system.left_out_reason.empty()) {
            table.fault("leave_out", "missing", "`leave_out` and `leave_out_reason` must be used together");
        }
        if (entry.names.empty() && entry.words.empty()) {
            table.fault("names", "missing", "[[system]] has no names and no words");
        }
        if (entry.node.empty() == entry.system.shape.empty()) {
            table.fault("node", "missing", "[[system]] needs one of `node` and `shape`");
        }
        table.finish();
        names.entries_.push_back(std::move(entry));
    }
    file.finish();
    ROOFLINE_CHECK(text.status());
    return names;
}

Result<SystemNames> SystemNames::built_in() { return parse(embedded_systems(), "systems.toml"); }

// Searches by a system's names, then by the id of an unchanged machine, then by the words of a name.
const SystemNames::Entry* SystemNames::entry(std::string_view name, std::string_view link, std::int64_t members) const {
    const Entry* any = nullptr;
    const Entry* plain = nullptr;
    for (const Entry& each : entries_) {
        const bool unchanged = each.link.empty() && each.system.sets.empty() && each.system.shape.empty();
        if (plain == nullptr && unchanged && same(each.system.machine, name)) plain = &each;
        if (std::none_of(each.names.begin(), each.names.end(), [&](const auto& known) { return same(known, name); })) {
            continue;
        }
        if (each.members > 0 && each.members != members) continue;
        if (!each.link.empty() && same(each.link, link)) return &each;
        if (each.link.empty() && any == nullptr) any = &each;
    }
    if (any != nullptr || plain != nullptr) return any != nullptr ? any : plain;
    const auto holds = [&name](const std::string& word) {
        return std::search(name.begin(), name.end(), word.begin(), word.end(),
                           [](char a, char b) { return to_lower(a) == to_lower(b); }) != name.end();
    };
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
        return !each.words.empty() && std::all_of(each.words.begin(), each.words.end(), holds);
    });
    return found == entries_.end() ? nullptr : &*found;
}

std::optional<NamedSystem> SystemNames::named(std::string_view name) const {
    const Entry* const found = entry(name, "", 0);
    return found == nullptr ? std::nullopt : std::optional(found->system);
}

Result<NamedSystem> SystemNames::find(std::string_view name, std::string_view link, std::int64_t members,
                                      std::int64_t nodes) const {
    const Entry* const found = entry(name, link, members);
    if (found == nullptr) {
        std::vector<std::string> known;
        for (const Entry& each : entries_) known.insert(known.end(), each.names.begin(), each.names.end());
        return fail("unknown_system", fmt::format("the system {} is unknown", in_ticks(name)),
                    did_you_mean(name, known, "name the slice that the table was measured on with --on"));
    }
    NamedSystem system = found->system;
    if (!system.shape.empty()) return system;
    system.shape = node_shape(found->node, members, found->trays ? 1 : nodes);
    if (!system.shape.empty()) return system;
    return fail("bad_system", fmt::format("{} devices on {} node{} of {}, which have {} each", members, nodes,
                                          nodes == 1 ? "" : "s", system.id, product(found->node)));
}

}  // namespace roofline::core
