#include "machine/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/ascii.hpp"
#include "machine/embedded.hpp"
#include "machine/identity.hpp"

namespace roofline::core {

namespace {

/// Names are compared in lower case, with '-' for spaces and '_'.
char folded(char c) { return c == ' ' || c == '_' ? '-' : to_lower(c); }

std::string folded(std::string_view text) {
    std::string result;
    for (const char c : text) result += folded(c);
    return result;
}

/// Whether a name, once it is folded, begins so.
bool begins_with(std::string_view name, std::string_view wanted) {
    return name.size() >= wanted.size() &&
           std::equal(wanted.begin(), wanted.end(), name.begin(), [](char w, char c) { return w == folded(c); });
}

bool is_letter(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }

/// Whether a name that begins with `wanted` is merely cut off there, in a word that ends the name: "trill" of Trillium.
/// What follows a digit or begins another word distinguishes products: "rtx-4070-ti", "l40s", "m4-max".
bool abbreviates(std::string_view wanted, std::string_view name) {
    const std::string_view rest = name.substr(wanted.size());
    return is_letter(wanted.back()) && std::all_of(rest.begin(), rest.end(), is_letter);
}

/// The id and the aliases of a machine.
std::vector<std::string_view> names_of(const EmbeddedMachine& machine) {
    std::vector<std::string_view> names{machine.id};
    std::string_view rest = machine.aliases;
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        names.push_back(rest.substr(0, end));
        rest.remove_prefix(end + 1);
    }
    return names;
}

tl::unexpected<Error> unknown(std::string_view name) {
    std::vector<std::string> names;
    for (const EmbeddedMachine& machine : embedded_machines()) {
        for (const std::string_view known : names_of(machine)) names.push_back(folded(known));
    }
    return fail("unknown_machine", fmt::format("no machine {}", in_ticks(name)),
                did_you_mean(folded(name), names, "`roofline machine` lists all machines"));
}

Result<const EmbeddedMachine*> lookup(std::string_view name) {
    const std::string wanted = folded(name);
    if (wanted.empty())
        return fail("unknown_machine", "the machine has no name", "`roofline machine` lists all machines");
    std::vector<const EmbeddedMachine*> beginnings;
    bool abbreviation = false;
    for (const EmbeddedMachine& machine : embedded_machines()) {
        for (const std::string_view known : names_of(machine)) {
            if (!begins_with(known, wanted)) continue;
            if (known.size() == wanted.size()) return &machine;
            abbreviation = abbreviation || abbreviates(wanted, known);
            if (beginnings.empty() || beginnings.back() != &machine) beginnings.push_back(&machine);
        }
    }
    if (beginnings.empty()) return unknown(name);
    if (beginnings.size() == 1 && abbreviation) return beginnings.front();
    if (beginnings.size() == 1) {
        return fail("unknown_machine", fmt::format("no machine {}", in_ticks(name)),
                    fmt::format("if you mean {}, say so; `roofline machine` lists all machines",
                                in_ticks(beginnings.front()->id)));
    }
    std::string candidates;
    for (const EmbeddedMachine* machine : beginnings)
        candidates += (candidates.empty() ? "" : ", ") + std::string(machine->id);
    return fail("ambiguous_machine", fmt::format("{} matches {} machines", in_ticks(name), beginnings.size()),
                "say which: " + candidates);
}

}  // namespace

std::vector<std::string> machine_ids() {
    std::vector<std::string> ids;
    for (const EmbeddedMachine& machine : embedded_machines()) ids.emplace_back(machine.id);
    return ids;
}

Result<Machine> find_machine(std::string_view name) {
    ROOFLINE_TRY(const auto found, lookup(name));
    return parse_machine(found->file(), fmt::format("machines/{}.toml", found->id));
}

Result<Machine> find_machine(std::string_view name, const std::vector<std::string>& changes) {
    ROOFLINE_TRY(auto machine, find_machine(name));
    for (const std::string& change : changes) ROOFLINE_CHECK(set_figure(machine, change));
    return machine;
}

Result<Machine> find_identity(std::string_view name) {
    ROOFLINE_TRY(const auto found, lookup(name));
    return parse_identity(found->identity());
}

Result<std::string> machine_file(std::string_view name) {
    ROOFLINE_TRY(const auto found, lookup(name));
    return std::string((found)->text);
}

}  // namespace roofline::core
