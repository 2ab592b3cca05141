#include "calibrate/exchange/exchange_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

ExchangeKernels read_kernels(Reader& table) {
    ExchangeKernels kernels;
    kernels.name = table.required_text("name");
    kernels.form = table.choice("moves", {"all-to-all", "all-gather"}) == "all-gather" ? ExchangeForm::all_gather
                                                                                       : ExchangeForm::all_to_all;
    kernels.once = table.flag("once");
    kernels.prefill = table.text("prefill");
    kernels.decode = table.text("decode");
    kernels.source = table.required_text("source");
    return kernels;
}

// Whether these kernels exist, and do not stand for others themselves.
bool runs_as(const KnownExchanges& all, const std::string& name) {
    if (name.empty()) return true;
    const ExchangeKernels* const kernels = all.find(name);
    return kernels != nullptr && kernels->prefill.empty() && kernels->decode.empty();
}

}  // namespace

std::string_view name(ExchangeForm form) { return form == ExchangeForm::all_gather ? "all-gather" : "all-to-all"; }

const ExchangeKernels* KnownExchanges::find(std::string_view name) const {
    const auto found =
        std::find_if(kernels.begin(), kernels.end(), [&](const auto& each) { return each.name == name; });
    return found == kernels.end() ? nullptr : &*found;
}

Result<ExchangeChoice> KnownExchanges::named(std::string_view name) const {
    const ExchangeKernels* const asked = find(lowered(trimmed(name)));
    if (asked == nullptr) {
        std::vector<std::string> names;
        for (const ExchangeKernels& each : kernels) names.push_back(each.name);
        return fail("unknown_exchange", fmt::format("there are no kernels {} for tokens and experts", in_ticks(name)),
                    did_you_mean(name, names, fmt::format("known are {}", fmt::join(names, ", "))));
    }
    return ExchangeChoice{asked->prefill.empty() ? asked : find(asked->prefill),
                          asked->decode.empty() ? asked : find(asked->decode), true};
}

ExchangeChoice KnownExchanges::of_server(std::string_view software, const Slice& slice) const {
    const std::string within = slice.tiers.size() == 1 ? slice.network(slice.tiers.front()).id : std::string();
    for (const ServerExchange& server : servers) {
        if (software.empty() || !same_library(software, server.software)) continue;
        if (!server.within.empty() && server.within != within) continue;
        auto choice = named(server.exchange);
        if (!choice) break;
        choice->asked = false;
        return *choice;
    }
    return {};
}

Result<KnownExchanges> parse_exchanges(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    KnownExchanges all;
    std::vector<Reader> tables = file.each("kernel");
    for (Reader& table : tables) {
        ExchangeKernels kernels = read_kernels(table);
        if (all.find(kernels.name) != nullptr) {
            table.fault("name", "duplicate", fmt::format("{} stands there twice", in_ticks(kernels.name)));
        }
        all.kernels.push_back(std::move(kernels));
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
        const std::pair<const char*, const std::string*> others[] = {{"prefill", &all.kernels[i].prefill},
                                                                     {"decode", &all.kernels[i].decode}};
        for (const auto& [key, other] : others) {
            if (runs_as(all, *other)) continue;
            tables[i].fault(key, "unknown_exchange",
                            fmt::format("{} is no kernel that is described here", in_ticks(*other)));
        }
        tables[i].finish();
    }
    for (Reader& table : file.each("server")) {
        ServerExchange server{table.required_text("software"), table.required_text("exchange"), table.text("within"),
                              table.required_text("source")};
        if (all.find(server.exchange) == nullptr) {
            table.fault("exchange", "unknown_exchange",
                        fmt::format("{} is no kernel that is described here", in_ticks(server.exchange)));
        }
        table.finish();
        all.servers.push_back(std::move(server));
    }
    file.finish();
    ROOFLINE_CHECK(text.status());
    return all;
}

const KnownExchanges& built_in_exchanges() {
    // a test reads this file
    static const KnownExchanges all = [] {
        auto read = parse_exchanges(embedded_exchanges(), "exchanges.toml");
        return read ? std::move(*read) : KnownExchanges{};
    }();
    return all;
}

}  // namespace roofline::core
