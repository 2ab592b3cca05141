#include "calibrate/server/server_memory.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "calibrate/collective/expected_collective.hpp"
#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

constexpr double mib = 1024.0 * 1024.0;
constexpr std::int64_t most_tokens = std::int64_t{1} << 24;

constexpr std::array<std::pair<MemoryShare, std::string_view>, 3> shares{
    {{MemoryShare::all, "all"}, {MemoryShare::unmoving, "static"}, {MemoryShare::left, "free"}}};

MemoryReserve::Class read_class(Reader& table) {
    MemoryReserve::Class read;
    constexpr std::int64_t most_mib = std::int64_t{1} << 30;
    read.below = table.whole("below", 1, most_mib, 0);
    read.tokens = table.number("tokens", 0);
    read.sequences = table.number("sequences", 0);
    read.wide_sequences = table.number("wide_sequences", 0);
    table.finish();
    return read;
}

MemoryReserve read_reserve(Reader& table) {
    MemoryReserve reserve;
    for (const auto& [key, value] :
         {std::pair{"fixed", &reserve.fixed}, std::pair{"prompt_token", &reserve.prompt_token},
          std::pair{"graph_sequence", &reserve.graph_sequence}, std::pair{"chip", &reserve.chip},
          std::pair{"member_sequence", &reserve.member_sequence},
          std::pair{"large_member_sequence", &reserve.large_member_sequence}, std::pair{"large", &reserve.large},
          std::pair{"least", &reserve.least}, std::pair{"least_above", &reserve.least_above}}) {
        *value = table.number(key, 0);
    }
    for (Reader& each : table.each("class")) reserve.classes.push_back(read_class(each));
    if (reserve.classes.empty()) table.fault("class", "missing_key", table.of("class") + " is missing");
    table.finish();
    return reserve;
}

ServerMemory read_server(Reader& table, const Citations& citations) {
    ServerMemory server;
    server.software = table.required_text("software");
    const std::string of = table.choice("of", {shares[0].second, shares[1].second, shares[2].second});
    for (const auto& [share, word] : shares) {
        if (of == word) server.of = share;
    }
    server.block = table.whole("block", 1, most_tokens, 1);
    server.source = citations.resolve(table.required_text("source"));
    server.vendors = table.texts("vendors");
    server.fraction = table.number("fraction", 1);
    if (server.fraction > 1) table.fault("fraction", "out_of_range", table.of("fraction") + " must be at most 1");
    if (auto reserve = table.inner("reserve")) server.reserve = read_reserve(*reserve);
    if (table.has("fraction") == server.reserve.has_value()) {
        table.fault("fraction", "missing_key", "either a fraction or [server.reserve] must be given");
    }
    table.finish();
    return server;
}

// Returns the version in a name; "" if there is none, or only a date or a word, by which tables name some builds.
std::string_view version_in(std::string_view software) {
    constexpr int first_year = 2000;
    const std::size_t at = version_place(software);
    if (at == std::string_view::npos) return {};
    const std::string_view version = software.substr(at + 1);
    int number = first_year;
    std::from_chars(version.data(), version.data() + version.size(), number);
    return number < first_year ? version : std::string_view{};
}

}  // namespace

std::string_view name(MemoryShare of) {
    return std::find_if(shares.begin(), shares.end(), [&](const auto& each) { return each.first == of; })->second;
}

double cache_room(const MemoryRule& rule, double capacity, double weights, double activations) {
    switch (rule.of) {
        case MemoryShare::all:
            return rule.fraction * capacity - weights - activations;
        case MemoryShare::unmoving:
            return std::min(rule.fraction * capacity, capacity - activations) - weights;
        case MemoryShare::left:
            return rule.fraction * (capacity - weights - activations);
    }
    return 0;
}

double least_fraction(MemoryShare of, double capacity, double weights, double activations, double cache) {
    const double all = weights + activations + cache;
    constexpr double none = 2;
    if (all > capacity) return none;
    switch (of) {
        case MemoryShare::all:
            return all / capacity;
        case MemoryShare::unmoving:
            return (weights + cache) / capacity;
        case MemoryShare::left:
            return cache / (capacity - weights - activations);
    }
    return none;
}

double MemoryReserve::fraction_left(const ServerChips& chips) const {
    const double memory = chips.capacity / mib;
    const auto found = std::find_if(classes.begin(), classes.end(), [&](const Class& each) {
        return each.below == 0 || memory < static_cast<double>(each.below);
    });
    const Class& own = found == classes.end() ? classes.back() : *found;
    constexpr std::int64_t wide = 4;
    const double sequences = chips.chips / chips.stages < wide ? own.sequences : own.wide_sequences;
    double reserved =
        fixed + prompt_token * own.tokens + graph_sequence * sequences + chip * static_cast<double>(chips.chips);
    if (chips.members > 1) {
        const double each = member_sequence + (sequences > large ? large_member_sequence : 0);
        reserved += each * sequences * static_cast<double>(chips.members);
    }
    if (memory > least_above) reserved = std::max(reserved, least);
    constexpr double digits = 1000;
    return std::max(1.0, std::round((memory - reserved) / memory * digits)) / digits;
}

MemoryRule ServerMemory::on(const ServerChips& chips) const {
    return {software, of, reserve ? reserve->fraction_left(chips) : fraction, block, source};
}

MemoryRule MemoryChoice::on(const ServerChips& chips) const {
    MemoryRule rule = server != nullptr ? server->on(chips) : MemoryRule{};
    if (fraction) rule.fraction = *fraction;
    if (block > 0) rule.block = block;
    return rule;
}

const ServerMemory* ServerMemories::find(std::string_view software) const {
    const ServerMemory* best = nullptr;
    const std::string_view asked = version_in(software);
    for (const ServerMemory& each : servers) {
        if (!same_library(each.software, software)) continue;
        const std::string_view since = version_in(each.software);
        if (!since.empty() && (asked.empty() || older(asked, since))) continue;
        if (best == nullptr || older(version_in(best->software), since)) best = &each;
    }
    return best;
}

bool ServerMemories::runs_on(std::string_view software, std::string_view vendor) const {
    const ServerMemory* const server = find(software);
    if (server == nullptr || server->vendors.empty() || vendor.empty()) return true;
    return std::find(server->vendors.begin(), server->vendors.end(), vendor) != server->vendors.end();
}

Result<ServerMemories> parse_server_memories(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    ServerMemories memories;
    for (Reader& table : file.each("server")) memories.servers.push_back(read_server(table, text.citations()));
    file.finish();
    ROOFLINE_CHECK(text.status());
    return memories;
}

const ServerMemories& built_in_server_memories() {
    // a test reads this file; if it were invalid, servers would use all of the memory
    static const ServerMemories memories = [] {
        auto read = parse_server_memories(embedded_server_memory(), "server_memory.toml");
        return read ? std::move(*read) : ServerMemories{};
    }();
    return memories;
}

}  // namespace roofline::core
